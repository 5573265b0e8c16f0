#pragma once
#include <cstdint>
#include <optional>

#include "config/optim_config.h"

namespace tessera {

// Learning rate of optimizer step `step` (0 is the first) of a run of `total_steps`. A pure function, so a resumed run
// needs no state. Steps past the end keep the last rate.
double lr_at(const ScheduleConfig& config, double base_lr, int64_t step, int64_t total_steps, int64_t steps_per_epoch);

// Momentum (adam: beta 1) of that step where the schedule moves it; else none, and the optimizer's own holds.
std::optional<double> momentum_at(const ScheduleConfig& config, int64_t step, int64_t total_steps);

// Throws Error for settings that contradict one another.
void check_schedule(const ScheduleConfig& config);

// optimizer.lr for a global batch of this size: see optimizer.lr_scaling.
double scaled_lr(const OptimizerConfig& config, int64_t batch_size);

}  // namespace tessera
