#include "optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.h"

namespace tessera {
namespace {

// Goes from `start` at fraction 0 to `end` at fraction 1 along half a cosine.
double cosine_between(double start, double end, double fraction) {
  return end + (start - end) * (1 + std::cos(std::numbers::pi * fraction)) / 2;
}

struct Phase {
  bool rising = true;
  double fraction = 0;  // 0..1 within the phase
};

// The phases are those of torch.optim.lr_scheduler.OneCycleLR: the peak is at step pct_start * total - 1 (not whole in
// general), the end at the last step.
Phase one_cycle_phase(const ScheduleConfig& config, const Progress& at) {
  const auto last = static_cast<double>(at.total - 1);
  const double now = std::min(static_cast<double>(at.step), last);
  const double peak = config.pct_start * static_cast<double>(at.total) - 1;
  if (now <= peak) return {true, peak > 0 ? now / peak : 1.0};
  return {false, last > peak ? (now - peak) / (last - peak) : 1.0};
}

// The learning rate as a fraction of the full one.
double one_cycle(const ScheduleConfig& config, const Progress& at) {
  const double start = 1 / config.div;
  const Phase phase = one_cycle_phase(config, at);
  return phase.rising ? cosine_between(start, 1, phase.fraction) : cosine_between(1, start / config.final_div, phase.fraction);
}

// On the way from the full rate to the final one, with this fraction of the way left.
LrPoint fallen_to(double left) {
  return {left, 1 - left};
}

int64_t milestones_passed(const ScheduleConfig& config, const Progress& at) {
  return std::count_if(config.milestones.begin(), config.milestones.end(),
                       [&](const Duration& d) { return d.steps(at.steps_per_epoch, at.total) <= at.step; });
}

}  // namespace

LrPoint lr_point_at(const ScheduleConfig& config, const Progress& at) {
  TSR_CHECK(at.step >= 0 && at.total > 0, "expected a step from 0 on in a run of at least 1 step, got step {} of {}", at.step,
            at.total);
  if (config.type == ScheduleType::kOneCycle) return {one_cycle(config, at)};
  const int64_t warmup = config.warmup.steps(at.steps_per_epoch, at.total);
  if (at.step < warmup) {
    const double fraction = static_cast<double>(at.step) / static_cast<double>(warmup);
    return {config.warmup_start + (1 - config.warmup_start) * fraction};
  }
  // Poly and cosine run from the end of the warm-up to the end of the run.
  const auto length = static_cast<double>(std::max<int64_t>(at.total - warmup, 1));
  const double fraction = std::min(static_cast<double>(at.step - warmup) / length, 1.0);
  switch (config.type) {
    case ScheduleType::kPoly: return fallen_to(std::pow(1 - fraction, config.power));
    case ScheduleType::kCosine: return fallen_to(cosine_between(1, 0, fraction));
    case ScheduleType::kStep: return {std::pow(config.gamma, milestones_passed(config, at))};
    case ScheduleType::kConstant:
    case ScheduleType::kOneCycle: break;
  }
  return {};
}

std::optional<double> momentum_at(const ScheduleConfig& config, const Progress& at) {
  if (config.type != ScheduleType::kOneCycle || !config.cycle_momentum) return std::nullopt;
  const Phase phase = one_cycle_phase(config, at);
  return phase.rising ? cosine_between(config.max_momentum, config.min_momentum, phase.fraction)
                      : cosine_between(config.min_momentum, config.max_momentum, phase.fraction);
}

void check_schedule(const ScheduleConfig& config) {
  TSR_CHECK_USAGE(config.type != ScheduleType::kOneCycle || config.warmup.value == 0,
                  "schedule.type one_cycle rises by itself; remove schedule.warmup ({}) and set schedule.pct_start",
                  config.warmup.text());
  TSR_CHECK_USAGE(config.type != ScheduleType::kStep || !config.milestones.empty(),
                  "schedule.type step needs schedule.milestones, e.g. [0.6dur, 0.9dur]");
  TSR_CHECK_USAGE(config.min_momentum <= config.max_momentum, "expected schedule.min_momentum <= max_momentum, got {} and {}",
                  config.min_momentum, config.max_momentum);
}

LrRange lr_range(const OptimizerConfig& optimizer, const ScheduleConfig& schedule, int64_t batch_size) {
  LrRange range{optimizer.lr, 0};
  if (optimizer.lr_scaling != LrScaling::kNone) {
    const double ratio = static_cast<double>(batch_size) / static_cast<double>(optimizer.base_batch);
    range.full *= optimizer.lr_scaling == LrScaling::kLinear ? ratio : std::sqrt(ratio);
  }
  if (schedule.type != ScheduleType::kPoly && schedule.type != ScheduleType::kCosine) return range;
  TSR_CHECK_USAGE(schedule.final_lr <= range.full || range.full == 0,
                  "schedule.final_lr is {}, above the learning rate {} that falls to it; lower it or raise optimizer.lr",
                  schedule.final_lr, range.full);
  range.final_lr = std::min(schedule.final_lr, range.full);
  return range;
}

}  // namespace tessera
