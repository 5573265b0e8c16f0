#pragma once
#include <ATen/core/Tensor.h>

#include "kernels/attention_backend.h"

namespace tessera {

// Note [The odd token]
// Fused attention works on blocks of 128 tokens, so that a class token before 1,024 patches is a block of its own, among
// queries and among keys. Backward can do without it: with the logs of sums over all keys known, gradients are sums over pairs
// of tokens, and the pairs with the first token are one row and one column, which join_odd_token adds on the way to the
// gradient of qkv.
struct OddToken {
  at::Tensor qkv;         // (N, T, 3 * heads * d)
  at::Tensor slope, out;  // (N, T, heads * d): the gradient of attention's result, and that result
  at::Tensor log_sums;    // (N, heads, T)
};

// Whether it pays, and join_odd_token takes it.
bool has_odd_token(const Heads& heads);

// rest: gradients of q, k and v of the tokens behind the first, (N, heads, T - 1, d), as far as these alone make them. Fills
// tokens, (N, T, 3 * heads * d), with the gradient of qkv; returns its sums over samples and tokens, in float32 (float64 for
// float64) and in a fixed order.
at::Tensor join_odd_token(const Heads& rest, const OddToken& in, const at::Tensor& tokens);

}  // namespace tessera
