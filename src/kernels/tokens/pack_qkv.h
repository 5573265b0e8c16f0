#pragma once
#include <ATen/core/Tensor.h>

namespace tessera {

// Packs the gradients of q, k, v into the layout of the fused QKV projection, in one pass.
// q, k, v: (N, heads, T, d) of any strides. Fills tokens, (N, T, 3 * heads * d), contiguous: each token has first all heads of
// q, then of k, then of v. Returns the sums of its columns over all tokens, in float32 (float64 for float64) and in a fixed
// order.
at::Tensor pack_qkv_grad(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& tokens);

}  // namespace tessera
