#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>

#include "config/optim_config.h"
#include "core/progress.h"

namespace tessera {

// Where a step stands on its schedule: its learning rate is full_weight * the full rate + final_weight * the final rate.
struct LrPoint {
  double full_weight = 1, final_weight = 0;
};

// The learning rates between which a schedule moves a group of parameters. The final one belongs to poly and cosine.
struct LrRange {
  double full = 0, final_lr = 0;

  double at(const LrPoint& point) const { return point.full_weight * full + point.final_weight * final_lr; }
  // The range of a group whose rate is a multiple. The final rate is the same for all groups, as mmengine's and torch's
  // eta_min, but no group ends above its own full rate. So one that a multiplier of 0 keeps still stays so.
  LrRange of_group(double multiplier) const { return {full * multiplier, std::min(final_lr, full * multiplier)}; }
};

// The range of the whole model, for a global batch of this size (see optimizer.lr_scaling). Throws UsageError where the final
// rate is above the full one.
LrRange lr_range(const OptimizerConfig& optimizer, const ScheduleConfig& schedule, int64_t batch_size);

// The point of the step that begins there. A pure function, so a resumed run needs no state. Steps past the end keep the last
// rate.
LrPoint lr_point_at(const ScheduleConfig& config, const Progress& at);

// Momentum (adam: beta 1) of that step where the schedule moves it; else none, and the optimizer's own holds.
std::optional<double> momentum_at(const ScheduleConfig& config, const Progress& at);

// Throws UsageError for settings that contradict one another.
void check_schedule(const ScheduleConfig& config);

}  // namespace tessera
