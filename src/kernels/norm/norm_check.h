#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace tessera {

// Checks of what the ops of batch norm expect, see norm_act.h. They throw Error where it is not so; kernels index by these
// numbers without looking again.

// x: (N, C, H, W), in groups that end at `ends`.
void check_norm_input(const at::Tensor& x, const std::vector<int64_t>& ends);

// The same, and moments of each group, a weight and a bias of each channel.
void check_norm_arguments(const at::Tensor& x, const std::vector<int64_t>& ends, const at::Tensor& moments,
                          const at::Tensor& weight, const at::Tensor& bias);

}  // namespace tessera
