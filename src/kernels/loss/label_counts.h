#pragma once
#include <ATen/core/Tensor.h>

namespace tessera {

// (num_classes + 1) int64 on the labels' device: how many of them have each class, and at the end how many are neither a class
// nor kIgnoreLabel. labels: integers of any shape. Does not wait for a GPU.
at::Tensor label_counts(const at::Tensor& labels, int64_t num_classes);

// The same of each image: labels (N, ...), result (N, num_classes + 1).
at::Tensor image_label_counts(const at::Tensor& labels, int64_t num_classes);

}  // namespace tessera
