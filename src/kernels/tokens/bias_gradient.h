#pragma once
#include <ATen/core/Tensor.h>

namespace tessera {

// y as it is; backward also adds y's gradient up over all but the last dimension, as the gradient of `bias`. With
// y = linear(x, weight, bias.detach()) that is the bias's own gradient, which libtorch sums at a fifth of the memory's speed.
// y: (..., width); bias: (width). Summed in float32 (float64 for float64), in a fixed order.
at::Tensor with_bias_gradient(const at::Tensor& y, const at::Tensor& bias);

// The sum itself, of x (..., width), which is contiguous.
at::Tensor sum_rows(const at::Tensor& x);

}  // namespace tessera
