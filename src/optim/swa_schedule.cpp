#include "optim/swa_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tessera {

AverageStep swa_at(const SwaConfig& config, const Progress& at) {
  if (!config.enabled()) return {};
  const int64_t start = config.start.steps(at.steps_per_epoch, at.total);
  const int64_t interval = std::max<int64_t>(1, config.update_interval.steps(at.steps_per_epoch, at.total));
  const int64_t done = at.step + 1 - start;  // steps since the start, with this one
  if (done < interval) return {};
  return {true, done % interval == 0 ? 1 / static_cast<double>(done / interval) : 0};
}

std::string swa_warning(const SwaConfig& config, const Progress& run) {
  if (!config.enabled() || swa_at(config, {run.total - 1, run.total, run.steps_per_epoch}).runs) return "";
  return fmt::format(
      "train.swa: it begins at step {} and takes the weights every {} steps, but the run ends at step {}: there will be no "
      "average. Set train.swa.start or train.swa.update_interval lower",
      config.start.steps(run.steps_per_epoch, run.total), config.update_interval.steps(run.steps_per_epoch, run.total),
      run.total);
}

LrPoint swa_lr_point_at(const SwaConfig& config, double full_lr, const ScheduleConfig& schedule, const Progress& at) {
  const int64_t start = config.start.steps(at.steps_per_epoch, at.total);
  if (!config.enabled() || config.lr == 0 || full_lr == 0 || at.step < start) return lr_point_at(schedule, at);
  const LrPoint before = lr_point_at(schedule, {start, at.total, at.steps_per_epoch});
  const auto length = static_cast<double>(std::max<int64_t>(1, config.anneal.steps(at.steps_per_epoch, at.total)));
  const double fraction = std::min(1.0, static_cast<double>(at.step - start) / length);
  const double gone = config.anneal_shape == AnnealShape::kLinear ? fraction : (1 - std::cos(std::numbers::pi * fraction)) / 2;
  return {(1 - gone) * before.full_weight + gone * config.lr / full_lr, (1 - gone) * before.final_weight};
}

}  // namespace tessera
