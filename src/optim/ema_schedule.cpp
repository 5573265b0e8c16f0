#include "optim/ema_schedule.h"

#include <algorithm>
#include <cmath>

namespace tessera {

EmaStep ema_at(const EmaConfig& config, int64_t step, int64_t total_steps, int64_t steps_per_epoch) {
  if (!config.enabled() || step < config.start.steps(steps_per_epoch, total_steps)) return {};
  const int64_t interval = std::max<int64_t>(1, config.update_interval.steps(steps_per_epoch, total_steps));
  if ((step + 1) % interval != 0) return {.runs = true};
  if (config.smoothing > 0) return {true, 1 - config.smoothing};
  const int64_t half_life = std::max<int64_t>(1, config.half_life.steps(steps_per_epoch, total_steps));
  return {true, -std::expm1(-std::log(2.0) * static_cast<double>(interval) / static_cast<double>(half_life))};
}

}  // namespace tessera
