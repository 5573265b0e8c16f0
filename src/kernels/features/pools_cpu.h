#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

namespace tessera {

// The CPU's implementations of the ops of adaptive_pools.h.
std::vector<at::Tensor> adaptive_pools_cpu(const at::Tensor& x, at::IntArrayRef bins);
// `size`: height and width of the features.
at::Tensor adaptive_pools_backward_cpu(at::TensorList grad_outputs, at::IntArrayRef size);

}  // namespace tessera
