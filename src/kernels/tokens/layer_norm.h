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
// branch_bias: (width) of x's type, or undefined: added to the branch, so that the product that makes it needs no bias.
NormalizedSum add_layer_norm(const at::Tensor& x, const at::Tensor& branch, const at::Tensor& weight, const at::Tensor& bias,
                             double eps, at::ScalarType type, const at::Tensor& branch_bias = {});

// Shared memory of a block of the GPU's kernels: every GPU from sm_80 on has that much.
inline constexpr int64_t kLayerNormBytes = 96 << 10;

// The widest rows that fit into it in both directions: backward needs four numbers for each of a row.
inline int64_t widest_layer_norm(at::ScalarType type) {
  return kLayerNormBytes / (4 * static_cast<int64_t>(c10::elementSize(type)));
}

struct SplitTokens {
  at::Tensor head, rest;  // each contiguous
};

// The normalised tokens of x, (N, T, width), as two tensors: the first `head` of each sample, and the others. What follows
// then needs no copy to make its part contiguous, and the gradients come from two tensors.
SplitTokens add_layer_norm_split(const at::Tensor& x, const at::Tensor& branch, const at::Tensor& weight,
                                 const at::Tensor& bias, double eps, at::ScalarType type, const at::Tensor& branch_bias,
                                 int64_t head);

}  // namespace tessera
