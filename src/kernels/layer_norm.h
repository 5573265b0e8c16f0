#pragma once
#include <ATen/core/Tensor.h>

namespace tessera {

struct NormalizedSum {
  at::Tensor sum;         // of x's type; x itself without a branch
  at::Tensor normalized;  // of the type asked for
};

// LayerNorm over the last dimension, behind the residual addition before it: both in one pass, with gradients.
// x: (..., width) contiguous, float32 or float64; branch: of x's shape and type (beside float32 also bfloat16 or float16, like
// the result), or undefined; weight, bias: (width) of x's type. Statistics and sums are in x's type. Gradients of weight and
// bias are summed in a fixed order.
NormalizedSum add_layer_norm(const at::Tensor& x, const at::Tensor& branch, const at::Tensor& weight, const at::Tensor& bias,
                             double eps, at::ScalarType type);

}  // namespace tessera
