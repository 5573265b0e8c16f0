#pragma once
#include <cstdint>

#include "config/ema_config.h"

namespace tessera {

// What step `step` (0 is the first) does to the moving average of the weights.
struct EmaStep {
  bool runs = false;  // the average exists; at the first such step it begins as a copy of the weights before that step
  double share = 0;   // of the new weights in the average after the step; 0: no update is due
};

// A pure function, so a resumed run needs no state. Updates are due where the number of steps done is a multiple of the
// interval, as in Composer.
EmaStep ema_at(const EmaConfig& config, int64_t step, int64_t total_steps, int64_t steps_per_epoch);

}  // namespace tessera
