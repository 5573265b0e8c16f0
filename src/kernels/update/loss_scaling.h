#pragma once
#include <cmath>

#include "core/host_device.h"

namespace tessera {

// Note [Loss scaling on the device]
// A step whose gradients are not finite must not change anything, and whether they are is only known on the device. So that the
// program need not wait for it, what depends on it lies there: a float64 tensor with these numbers. gradient_norm reads them
// and moves them on, optimizer_step changes no weight where the clip factor is not finite, and counts the steps that Adam's
// bias depends on from here.
//   With fp16 the loss is multiplied so that small gradients do not vanish, and now and then one overflows: that step is
// skipped, and the scale halved. Rules are torch.amp.GradScaler's.
//   Otherwise something is wrong, and so it is with fp16 once there is nothing left to halve. Then no step after it changes
// anything either, until the program has seen it and takes `held` back: Note [Held steps].
struct LossScaling {
  double scale = 65536;
  double good_steps = 0;     // since the scale last changed
  double applied_steps = 0;  // of the run, that changed the weights
  double skipped_steps = 0;  // of the run, of which `held` was taken back or the scale was halved
  double adapts = 1;         // 0: the scale stays as it is
  double held = 0;           // 1: nothing is applied until this is 0 again
};
constexpr int kLossScalingNumbers = 6;
static_assert(sizeof(LossScaling) == kLossScalingNumbers * sizeof(double));

// Where a gradient still overflows that is multiplied by less than this, it is not for the scale.
constexpr double kLeastLossScale = 1;

// After a step: halves the scale when gradients were not finite, doubles it after 2000 good steps; or holds all that follow.
TSR_HOST_DEVICE void move_on(LossScaling& scaling, bool finite) {
  constexpr double kGrowthInterval = 2000;
  if (scaling.held != 0) return;
  if (!finite) {
    if (scaling.adapts == 0 || scaling.scale <= kLeastLossScale) {
      scaling.held = 1;
      return;
    }
    scaling.scale *= 0.5;
    scaling.good_steps = 0;
    scaling.skipped_steps += 1;
    return;
  }
  scaling.applied_steps += 1;
  if (scaling.adapts == 0) return;
  scaling.good_steps += 1;
  if (scaling.good_steps < kGrowthInterval) return;
  scaling.scale *= 2;
  scaling.good_steps = 0;
}

// GradientNorm::clip_factor of gradients whose norm is `norm` without the loss scale.
TSR_HOST_DEVICE double clip_factor(double norm, double max_norm, double loss_scale) {
  constexpr double kTorchEps = 1e-6;
  const double ratio = max_norm > 0 ? max_norm / (norm + kTorchEps) : 1.0;
  return norm - norm == 0 ? (ratio < 1 ? ratio : 1.0) / loss_scale : NAN;
}

}  // namespace tessera
