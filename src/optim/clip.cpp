#include "optim/clip.h"

#include <ATen/ATen.h>

#include "kernels/fused.h"

namespace tessera {
namespace {

// gradient_norm with tensor operations, for devices without that kernel.
GradientNorm tensor_norm(const at::Tensor& grads, double max_norm, double loss_scale) {
  constexpr double kTorchEps = 1e-6;
  const at::Tensor norm = at::linalg_vector_norm(grads, 2, std::nullopt, false, at::kDouble) / loss_scale;
  const at::Tensor share = max_norm > 0 ? (max_norm / (norm + kTorchEps)).clamp_max(1.0) : at::ones_like(norm);
  return {norm, share / loss_scale};
}

}  // namespace

GradientNorm clip_grad_norm(const at::Tensor& grads, double max_norm, double loss_scale) {
  GradientNorm result =
      takes_fused_kernels(grads) ? gradient_norm(grads, max_norm, loss_scale) : tensor_norm(grads, max_norm, loss_scale);
  if (max_norm == 0 && loss_scale == 1) result.factor.reset();
  return result;
}

}  // namespace tessera
