#pragma once
#include <ATen/core/Tensor.h>

namespace tessera {

// What all terms of a loss look at, made once per micro-batch.
struct PixelScores {
  at::Tensor log_probs;  // (N, K, H, W) float32 or float64, with gradient
  at::Tensor labels;     // (N, H, W) int64, kIgnoreLabel where ignored
  at::Tensor ignored;    // (N, H, W) bool
};

// logits: (N, C, h, w); labels: (N, H, W). C = 1 is the logit of class 1 of two classes (sigmoid), else softmax over C.
PixelScores score_pixels(const at::Tensor& logits, const at::Tensor& labels);

// Sum of all values as float64. Values are first summed within each image, so that the sums of an image do not depend on which
// others are in the micro-batch.
at::Tensor sum_images(const at::Tensor& values);

// (num_classes) float64: how many pixels have each label.
at::Tensor count_labels(const at::Tensor& labels, int num_classes);

}  // namespace tessera
