#include "optim/clip.h"

#include <ATen/ATen.h>

#include <cmath>

#include "kernels/common/fused.h"
#include "kernels/update/loss_scaling.h"

namespace tessera {
namespace {

// gradient_norm with tensor operations, for devices without that kernel. It waits where there is a scaling to move on.
GradientNorm tensor_norm(const at::Tensor& grads, double max_norm, const at::Tensor& scaling) {
  constexpr double kTorchEps = 1e-6;
  const at::Tensor numbers = scaling.defined() ? scaling.cpu() : at::Tensor();
  auto* const moved = scaling.defined() ? reinterpret_cast<LossScaling*>(numbers.mutable_data_ptr<double>()) : nullptr;
  const double loss_scale = moved != nullptr ? moved->scale : 1;
  const at::Tensor norm = at::linalg_vector_norm(grads, 2, std::nullopt, false, at::kDouble) / loss_scale;
  const at::Tensor clip_factor = max_norm > 0 ? (max_norm / (norm + kTorchEps)).clamp_max(1.0) : at::ones_like(norm);
  if (moved == nullptr) return {norm, clip_factor};
  const bool finite = std::isfinite(norm.item<double>());
  move_on(*moved, finite);
  scaling.copy_(numbers);
  return {norm, finite && moved->held == 0 ? clip_factor / loss_scale : at::full_like(clip_factor, NAN)};
}

}  // namespace

GradientNorm clip_grad_norm(const at::Tensor& grads, double max_norm, const at::Tensor& scaling) {
  GradientNorm result = use_fused(grads) ? gradient_norm(grads, max_norm, scaling) : tensor_norm(grads, max_norm, scaling);
  if (max_norm == 0 && !scaling.defined()) result.clip_factor.reset();
  return result;
}

}  // namespace tessera
