#pragma once
#include <ATen/SDPBackend.h>
#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/variable.h>

namespace tessera {

// Queries, keys and values, each (N, heads, T, d).
struct Heads {
  at::Tensor q, k, v;
};

// Which of libtorch's kernels compute softmax(q k' / sqrt(d)) v. `math`: none that the functions below know.
struct AttentionPlan {
  at::SDPBackend forward = at::SDPBackend::math, backward = at::SDPBackend::math;
};

// What at::scaled_dot_product_attention would take. Where results must not change from run to run, backward is one whose sums
// have a fixed order.
AttentionPlan plan_attention(const Heads& heads);

// What attention leaves for its backward pass.
struct Attended {
  at::Tensor out, log_sums;                     // (N, heads, T, d), (N, heads, T)
  at::Tensor starts_q, starts_k, seed, offset;  // of sequences and of dropout, which some kernels ask for: undefined or unused
  torch::autograd::variable_list tensors() const { return {out, log_sums, starts_q, starts_k, seed, offset}; }
};

Attended attend(const Heads& in, at::SDPBackend backend);

// The gradients of q, k and v. grad_out: (N, heads, T, d).
Heads attend_backward(const at::Tensor& grad_out, const Heads& in, const Attended& kept, at::SDPBackend backend);

}  // namespace tessera
