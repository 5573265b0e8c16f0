#pragma once
#include <ATen/core/Tensor.h>

namespace tessera {

// Multi-head self-attention over tokens, softmax(q k' / sqrt(d)) v for each head, with gradients.
// qkv: (N, T, 3 * heads * d), of each token first all heads of q, then of k, then of v: the result of a linear layer whose bias
// was detached, since `bias`, (3 * heads * d), gets its gradient here. Result: (N, T, heads * d).
// The arithmetic is that of libtorch's fused attention; ours is that neither pass moves tokens to make queries, keys and values
// of them, except once for the gradient of qkv. Where libtorch has nothing fused, this is at::scaled_dot_product_attention.
at::Tensor self_attention(const at::Tensor& qkv, const at::Tensor& bias, int64_t heads);

}  // namespace tessera
