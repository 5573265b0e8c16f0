#pragma once
#include <ATen/core/Tensor.h>

#include <optional>
#include <tuple>

namespace tessera {

// The ops of norm_act.cpp in libtorch's own operations, for tensors that no kernel takes, see kernels/common/fused.h.
at::Tensor norm_moments_plain(const at::Tensor& x, at::IntArrayRef ends, const std::optional<at::Tensor>& running_mean,
                              const std::optional<at::Tensor>& running_var, double momentum);
at::Tensor norm_act_plain(const at::Tensor& x, const std::optional<at::Tensor>& residual, const at::Tensor& moments,
                          const at::Tensor& weight, const at::Tensor& bias, at::IntArrayRef ends, double eps, bool relu);
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> norm_act_sums_plain(const at::Tensor& grad_out, const at::Tensor& x,
                                                                               const std::optional<at::Tensor>& y,
                                                                               const at::Tensor& moments,
                                                                               const at::Tensor& weight, const at::Tensor& bias,
                                                                               at::IntArrayRef ends, double eps, bool relu);
at::Tensor norm_act_backward_plain(const at::Tensor& grad_out, const at::Tensor& x, const at::Tensor& moments,
                                   const std::optional<at::Tensor>& means, const at::Tensor& weight, const at::Tensor& bias,
                                   at::IntArrayRef ends, double eps, bool relu);

}  // namespace tessera
