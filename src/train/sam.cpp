#include "train/sam.h"

#include <torch/types.h>

#include "core/log.h"
#include "optim/clip.h"
#include "tensor/too_large.h"

namespace tessera {
namespace {

constexpr double kEps = 1e-12;

}  // namespace

// In its scope the weights, and their half-precision copies, may be moved. Behind it they are as they were before.
class SharpnessAware::Uphill {
 public:
  explicit Uphill(SharpnessAware& sam) : sam_(sam) {
    const at::NoGradGuard no_grad;
    sam_.kept_.copy_(sam_.arena_.params());
  }

  // By the gradient in the arena. Returns 0, or not a number where that is none.
  at::Tensor climb() {
    const at::NoGradGuard no_grad;
    at::Tensor& params = sam_.arena_.params();
    const at::Tensor& grads = sam_.arena_.grads();
    at::Tensor norm, rate;
    make_with_kept_memory([&] {
      norm = clip_grad_norm(grads, 0).norm;  // of the gradient times the loss scale
      rate = (sam_.config_.rho / (norm + kEps * sam_.scaler_.numbers()[0])).to(params.scalar_type());
      norm.mul_(0);
    });
    params.addcmul_(grads, rate);
    sam_.working_.follow();
    return norm;
  }

  ~Uphill() {
    try {
      const at::NoGradGuard no_grad;
      sam_.arena_.params().copy_(sam_.kept_);
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

SharpnessAware::SharpnessAware(const SamConfig& config, Arena& arena, WorkingWeights& working, const LossScaler& scaler)
    : config_(config), arena_(arena), working_(working), scaler_(scaler) {
  if (config.enabled()) kept_ = at::empty_like(arena.params());
}

at::Tensor SharpnessAware::gradient(const Progress& at, const std::function<at::Tensor(const GradientUse&)>& here) {
  if (!is_due(at)) return here({});
  const at::Tensor loss = here({.exchanges = !config_.per_rank});
  Uphill uphill(*this);
  const at::Tensor flaw = uphill.climb();
  here({.begins_step = false});
  // Not every layer passes on a weight that is not a number.
  const at::NoGradGuard no_grad;
  make_with_kept_memory([&] { arena_.grads().narrow(0, 0, 1).add_(flaw); });
  return loss;
}

}  // namespace tessera
