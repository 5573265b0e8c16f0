#pragma once
#include <ATen/core/Tensor.h>

namespace tessera {

// The gradient of queries, keys and values that lie in one tensor, of what cuDNN's attention made from them. libtorch calls the
// same kernel, but cannot ask it for a fixed order of its sums, and gets three tensors from it that are then to be joined.
// grad_out, out: (N, T, heads * d); qkv and the result: (N, T, 3 * heads * d); all contiguous, of bf16 or fp16.
// log_sums: (N, heads, T) float32, contiguous. Undefined where the device, its cuDNN or this build has no such kernel.
at::Tensor attention_gradients(const at::Tensor& grad_out, const at::Tensor& qkv, const at::Tensor& out,
                               const at::Tensor& log_sums, int64_t heads, bool fixed_order);

}  // namespace tessera
