#pragma once
#include <ATen/core/Tensor.h>

#include "core/image.h"

namespace tessera {

// Predictions from upsampled logits without the upsampled logits, see Note [Cells]. logits: (N, C, h, w) of any float type and
// layout; they go to the wanted size bilinearly. Of equal logits the lowest class wins. No gradient.

// (N, height, width) int16: the class of each pixel.
at::Tensor upsample_argmax(const at::Tensor& logits, int64_t height, int64_t width, bool align_corners = false);

// (C, C) int64 on the CPU, which waits for a GPU: pixels by label (row) and prediction (column). labels: (N, H, W) integers, 0
// .. C - 1 or `ignore`, which is not counted; others are refused.
at::Tensor upsample_confusion(const at::Tensor& logits, const at::Tensor& labels, int64_t ignore = kIgnoreLabel,
                              bool align_corners = false);

}  // namespace tessera
