#pragma once
#include <ATen/core/Tensor.h>

#include <optional>
#include <tuple>

namespace tessera {

// The CPU implementations of the ops in norm_act.cpp, for float32, float64 and bfloat16.
at::Tensor norm_moments_cpu(const at::Tensor& x, at::IntArrayRef ends, const std::optional<at::Tensor>& running_mean,
                            const std::optional<at::Tensor>& running_var, double momentum);
at::Tensor norm_act_cpu(const at::Tensor& x, const std::optional<at::Tensor>& residual, const at::Tensor& moments,
                        const at::Tensor& weight, const at::Tensor& bias, at::IntArrayRef ends, double eps, bool relu);
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> norm_act_sums_cpu(const at::Tensor& grad_out, const at::Tensor& x,
                                                                             const std::optional<at::Tensor>& y,
                                                                             const at::Tensor& moments,
                                                                             const at::Tensor& weight, const at::Tensor& bias,
                                                                             at::IntArrayRef ends, double eps, bool relu);
at::Tensor norm_act_backward_cpu(const at::Tensor& grad_out, const at::Tensor& x, const at::Tensor& moments,
                                 const std::optional<at::Tensor>& means, const at::Tensor& weight, const at::Tensor& bias,
                                 at::IntArrayRef ends, double eps, bool relu);

}  // namespace tessera
