#include "train/sam.h"

#include <torch/types.h>

#include "core/log.h"
#include "optim/clip.h"

namespace tessera {
namespace {

constexpr double kEps = 1e-12;

}  // namespace

// In its scope the weights, and their half-precision copies, are those uphill. Behind it all is as it was before.
class SharpnessAware::Uphill {
 public:
  explicit Uphill(SharpnessAware& sam) : sam_(sam) {
    const at::NoGradGuard no_grad;
    sam_.kept_params_.copy_(sam_.arena_.params());
    sam_.kept_buffers_.copy_(sam_.arena_.buffers());
  }

  // In a scope of working weights, with the gradient that leads there in the arena. Returns 0, or not a number where it is
  // none.
  at::Tensor climb() {
    const at::NoGradGuard no_grad;
    at::Tensor& params = sam_.arena_.params();
    const at::Tensor norm = clip_grad_norm(sam_.arena_.grads(), 0).norm;  // of the gradient times the loss scale
    const at::Tensor eps = sam_.scaler_.enabled() ? kEps * sam_.scaler_.numbers()[0] : at::full_like(norm, kEps);
    const at::Tensor rate = sam_.config_.rho / (norm + eps);
    params.addcmul_(sam_.arena_.grads(), rate.to(params.scalar_type()));
    sam_.working_.follow();
    return norm * 0;
  }

  ~Uphill() {
    try {
      const at::NoGradGuard no_grad;
      sam_.arena_.params().copy_(sam_.kept_params_);
      sam_.arena_.buffers().copy_(sam_.kept_buffers_);
      sam_.working_.follow();
    } catch (const std::exception& e) {
      log_error("the weights could not be brought back from where SAM took them: {}", e.what());
    }
  }

  Uphill(const Uphill&) = delete;
  Uphill& operator=(const Uphill&) = delete;

 private:
  SharpnessAware& sam_;
};

SharpnessAware::SharpnessAware(const SamConfig& config, GradientComputation& gradients, Arena& arena, WorkingWeights& working,
                               const LossScaler& scaler)
    : config_(config), gradients_(gradients), arena_(arena), working_(working), scaler_(scaler) {
  if (!config.enabled()) return;
  kept_params_ = at::empty_like(arena.params());
  kept_buffers_ = at::empty_like(arena.buffers());
}

at::Tensor SharpnessAware::gradient(const StepInputs& inputs, const Progress& at) {
  if (!is_due(at)) return gradient_here(inputs, GradientExchange::kSum);
  const at::Tensor loss = gradient_here(inputs, config_.per_rank ? GradientExchange::kNone : GradientExchange::kSum);
  Uphill uphill(*this);
  const at::Tensor flaw = uphill.climb();
  gradient_here(inputs, GradientExchange::kSum);
  // Not every layer passes on a weight that is not a number.
  const at::NoGradGuard no_grad;
  arena_.grads().narrow(0, 0, 1).add_(flaw);
  return loss;
}

at::Tensor SharpnessAware::gradient_here(const StepInputs& inputs, GradientExchange exchange) {
  const at::Tensor loss = gradients_.compute(inputs, exchange);
  gradients_.reduce();  // over the ranks
  return loss;
}

}  // namespace tessera
