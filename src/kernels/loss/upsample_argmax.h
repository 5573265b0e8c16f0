#pragma once
#include <ATen/core/Tensor.h>

namespace tessera {

// The class of each pixel, (N, height, width) int16, from upsampled logits without the upsampled logits, see Note [Cells].
// logits: (N, C, h, w) of any float type and layout; they go to the wanted size bilinearly. Of equal logits the lowest class
// wins. No gradient.
at::Tensor upsample_argmax(const at::Tensor& logits, int64_t height, int64_t width, bool align_corners = false);

}  // namespace tessera
