#pragma once
#include <ATen/core/Tensor.h>

namespace tessera {

// gelu(x + bias), exact (with erf), in one pass each way; backward keeps x and nothing else, and sums the bias's gradient in a
// fixed order. x: (..., width) contiguous, float32, float64, bfloat16 or float16; bias: (width), float32, or float64 for
// float64.
at::Tensor bias_gelu(const at::Tensor& x, const at::Tensor& bias);

}  // namespace tessera
