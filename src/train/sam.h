#pragma once
#include "core/progress.h"
#include "train/gradient_computation.h"

namespace tessera {

// Note [SAM]
// Sharpness-aware minimisation (Foret et al., 2021) steps by the gradient that the loss has a little uphill: with the gradient
// g at the weights w, the one that counts is taken at w + e, e = rho * g / (|g| + 1e-12), and w makes the step. Every trained
// parameter goes uphill, and |g| is the norm of the global gradient, so that the result depends neither on passes nor on ranks.
// With train.sam.per_rank each rank climbs by its own part of the gradient, as in Composer: one exchange less.
//
// The weights lie in one buffer, so w is kept in a second one and copied back: the same bits, which subtracting e would not
// give. Both gradients are of the same samples, mixed alike, with the same dropout. Batch norm's running averages take the step
// into account once, as the first gradient finds it: they are to describe the weights that are kept, and those at w + e are
// not. (Composer's count both.) The loss that a step reports is that at w, too.
//
// A first gradient that is not finite makes the second one so, and the step is skipped or reported as any other.
class SharpnessAware {
 public:
  // Everything given must outlive it.
  SharpnessAware(const SamConfig& config, GradientComputation& gradients, Arena& arena, WorkingWeights& working,
                 const LossScaler& scaler);

  // The gradient that the step at `at` goes by, of the global batch, on all ranks; returns the loss as
  // GradientComputation::compute does. Where SAM is off, or the step is none of its own, it is the gradient at the weights.
  at::Tensor gradient(const StepInputs& inputs, const Progress& at);

 private:
  class Uphill;

  bool is_due(const Progress& at) const { return config_.enabled() && (at.step + 1) % config_.interval == 0; }
  at::Tensor gradient_here(const StepInputs& inputs, GradientExchange exchange);

  SamConfig config_;
  GradientComputation& gradients_;
  Arena& arena_;
  WorkingWeights& working_;
  const LossScaler& scaler_;
  at::Tensor kept_params_, kept_buffers_;  // undefined where SAM is off
};

}  // namespace tessera
