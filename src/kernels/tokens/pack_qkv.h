#pragma once
#include <ATen/core/Tensor.h>

namespace tessera {

// What the parts of one projection to queries, keys and values are put together from again, in one pass.
// q, k, v: (N, heads, T, d) of any strides. Fills tokens, (N, T, 3 * heads * d), contiguous: of each token first all heads of
// q, then of k, then of v. Returns the sums of its columns over all tokens, in float32 (float64 for float64) and in a fixed
// order.
at::Tensor join_heads(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& tokens);

}  // namespace tessera
