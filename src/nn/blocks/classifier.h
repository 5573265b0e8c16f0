#pragma once
#include <torch/nn/modules/conv.h>

namespace tessera {

// The 1x1 convolution at the end of a head. On a GPU it is a matrix product whose classes are filled up to a multiple of 8:
// tensor cores and 16-byte accesses want that, and 150 classes would be padded and unpadded by copies otherwise. The logits are
// then a slice of rows that are a little longer, and a loss that gives their gradient in such rows is taken as it is.
at::Tensor classify_pixels(torch::nn::Conv2d& conv, const at::Tensor& x);

// That matrix product on any device, for weight (K, C, 1, 1) and bias (K).
at::Tensor padded_product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

}  // namespace tessera
