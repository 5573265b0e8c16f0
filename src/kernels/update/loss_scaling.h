#pragma once
#include <cmath>

#include "core/host_device.h"

namespace tessera {

// Note [Loss scaling on the device]
// fp16's loss is multiplied so that small gradients do not vanish, and a step whose gradients overflow is skipped. Whether one
// did is only known on the device. So that the program need not wait for it, what depends on it lies there: a float64 tensor
// with these numbers. gradient_norm reads the scale and moves the numbers on, optimizer_step changes no weight where the
// clip factor is not finite, and counts the steps that Adam's bias depends on from here. Rules are torch.amp.GradScaler's.
struct LossScaling {
  double scale = 65536;
  double good_steps = 0;     // since the scale last changed
  double applied_steps = 0;  // of the run, that changed the weights
  double skipped_steps = 0;  // of the run
};
constexpr int kLossScalingNumbers = 4;
static_assert(sizeof(LossScaling) == kLossScalingNumbers * sizeof(double));

// After a step: halves the scale when gradients were not finite, doubles it after 2000 good steps.
TSR_HOST_DEVICE void move_on(LossScaling& scaling, bool finite) {
  constexpr double kGrowthInterval = 2000;
  if (!finite) {
    scaling.scale *= 0.5;
    scaling.good_steps = 0;
    scaling.skipped_steps += 1;
    return;
  }
  scaling.applied_steps += 1;
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
