#pragma once
#include <ATen/core/Tensor.h>

#include "core/image.h"

namespace tessera {

// Losses of upsampled logits without the upsampled logits: the interpolation, the softmax, the sums and the gradient go pixel
// by pixel, see Note [Cells]. Results are the same on any number of threads.
//
// logits: (N, C, h, w) float32, float64, bfloat16 or float16, in any layout. labels: (N, H, W) integers, 0 .. C - 1 or
// `ignore`; others are refused. Logits go to the labels' size bilinearly; they may also be larger. Computes in float32, or
// float64 for float64 logits.

struct CrossEntropyOptions {
  at::Tensor class_weights;  // (C), or undefined: all 1
  double label_smoothing = 0;
  at::Tensor other_labels;  // (N, H, W), or undefined: MixUp's second labels, ...
  at::Tensor mix_weight;    // (N): ... and the weight of the first
  int64_t ignore = kIgnoreLabel;
  bool align_corners = false;
};

// float64 scalar with gradient: the sum over labelled pixels of what torch's cross entropy gives each, not divided by anything.
at::Tensor upsample_cross_entropy(const at::Tensor& logits, const at::Tensor& labels, const CrossEntropyOptions& options = {});

// (2, C) float64 with gradient: for each class the sum of its probability over the pixels with its label, and over all
// labelled.
at::Tensor upsample_softmax_sums(const at::Tensor& logits, const at::Tensor& labels, int64_t ignore = kIgnoreLabel,
                                 bool align_corners = false);

}  // namespace tessera
