#pragma once
#include <cmath>

#include "core/host_device.h"

namespace tessera {

// See GradientNorm.
TSR_HOST_DEVICE double clip_factor(double norm, double max_norm, double loss_scale) {
  constexpr double kTorchEps = 1e-6;
  const double share = max_norm > 0 ? max_norm / (norm + kTorchEps) : 1.0;
  return norm - norm == 0 ? (share < 1 ? share : 1.0) / loss_scale : NAN;
}

}  // namespace tessera
