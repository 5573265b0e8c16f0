#pragma once
#include <ATen/core/Tensor.h>

namespace tessera {

// x / |x| for each row (the last dimension), with its gradient: one pass each way. Norms and gradients are computed in float32
// (float64 for float64) and rounded once. x: float32, float64, bfloat16 or float16; the result has its type.
at::Tensor l2_normalize_rows(const at::Tensor& x);

}  // namespace tessera
