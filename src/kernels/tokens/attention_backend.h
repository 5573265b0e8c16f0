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

// Chooses what at::scaled_dot_product_attention would choose. Where results must not change from run to run, backward is one
// whose sums have a fixed order.
AttentionPlan plan_attention(const Heads& heads);

// The tensors that attention leaves for its backward pass.
struct Attended {
  at::Tensor out, log_sums;                     // (N, heads, T, d), (N, heads, T)
  at::Tensor starts_q, starts_k, seed, offset;  // of sequences and of dropout, which some kernels ask for: undefined or unused
  torch::autograd::variable_list tensors() const { return {out, log_sums, starts_q, starts_k, seed, offset}; }
};

Attended attend(const Heads& in, at::SDPBackend backend);

// The gradients of q, k and v. grad_out: (N, heads, T, d).
Heads attend_backward(const at::Tensor& grad_out, const Heads& in, const Attended& kept, at::SDPBackend backend);

// The gradient of queries, keys and values that lie in one tensor, of what cuDNN's attention made from them. libtorch calls the
// same kernel, but cannot ask it for a fixed order of its sums, and gets three tensors from it that are then to be joined.
// grad_out, out: (N, T, heads * d); qkv and the result: (N, T, 3 * heads * d); all contiguous, of bf16 or fp16.
// log_sums: (N, heads, T) float32, contiguous. Undefined where the device, its cuDNN or this build has no such kernel.
at::Tensor attention_gradients(const at::Tensor& grad_out, const at::Tensor& qkv, const at::Tensor& out,
                               const at::Tensor& log_sums, int64_t heads, bool fixed_order);

}  // namespace tessera
