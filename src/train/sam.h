#pragma once
#include <functional>

#include "core/progress.h"
#include "infer/precision.h"
#include "train/arena.h"
#include "train/gradient_computation.h"
#include "train/working_weights.h"

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
// A first gradient that is not finite makes the second one so, and the step is held or skipped as any other. Where memory runs
// out, each of the two is computed again by itself: Note [Out of memory].
class SharpnessAware {
 public:
  // Everything given must outlive it.
  SharpnessAware(const SamConfig& config, Arena& arena, WorkingWeights& working, const LossScaler& scaler);

  // Leaves the gradient in the arena, on all ranks, that the step at `at` goes by, and returns its loss. Where SAM is off, or
  // the step is none of its own, it is the gradient at the weights. here: leaves there that of the weights as they are, added
  // up over the ranks unless told otherwise, and returns the loss. A collective, in a scope of working weights.
  at::Tensor gradient(const Progress& at, const std::function<at::Tensor(const GradientUse&)>& here);

 private:
  class Uphill;

  bool is_due(const Progress& at) const { return config_.enabled() && (at.step + 1) % config_.interval == 0; }

  SamConfig config_;
  Arena& arena_;
  WorkingWeights& working_;
  const LossScaler& scaler_;
  at::Tensor kept_;  // the weights; undefined where SAM is off
};

}  // namespace tessera
