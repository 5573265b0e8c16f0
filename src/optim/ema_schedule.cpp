#include "optim/ema_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr double kMuchAtTheEnd = 0.1, kNothing = 1e-12;

// The updates of an average in steps: the first is due at the first multiple of the interval after the start.
struct Updates {
  int64_t start, interval;

  bool due(int64_t done) const { return done > start && done % interval == 0; }
  int64_t count(int64_t done) const { return done > start ? done / interval - start / interval : 0; }
};

Updates updates_of(const EmaConfig& config, const Progress& run) {
  return {config.start.steps(run.steps_per_epoch, run.total),
          std::max<int64_t>(1, config.update_interval.steps(run.steps_per_epoch, run.total))};
}

// The weight of the new parameters once the warm-up is over.
double full_weight(const EmaConfig& config, int64_t interval, const Progress& run) {
  if (config.smoothing > 0) return 1 - config.smoothing;
  const int64_t half_life = std::max<int64_t>(1, config.half_life.steps(run.steps_per_epoch, run.total));
  return -std::expm1(-std::log(2.0) * static_cast<double>(interval) / static_cast<double>(half_life));
}

// The weight 1 - (1 + t) / (10 + t) of the update after t others.
double warmup_weight(int64_t updates_before) {
  return 9 / (10 + static_cast<double>(updates_before));
}

}  // namespace

AverageStep ema_at(const EmaConfig& config, const Progress& at) {
  const Updates updates = updates_of(config, at);
  if (!config.enabled() || at.step < updates.start) return {};
  if (!updates.due(at.step + 1)) return {.runs = true};
  const double weight = full_weight(config, updates.interval, at);
  return {true, config.warmup ? std::max(weight, warmup_weight(updates.count(at.step + 1) - 1)) : weight};
}

double ema_beginning_left(const EmaConfig& config, const Progress& at) {
  const Updates updates = updates_of(config, at);
  if (!config.enabled() || at.step <= updates.start) return 0;
  const double weight = full_weight(config, updates.interval, at);
  const int64_t count = updates.count(at.step);
  double left = 1;
  int64_t done = 0;
  for (; config.warmup && done < count && warmup_weight(done) > weight && left > kNothing; ++done)
    left *= 1 - warmup_weight(done);
  return left * std::pow(1 - weight, count - done);
}

std::string ema_warning(const EmaConfig& config, int64_t first_evaluation, const Progress& run) {
  const auto left = [&](int64_t steps) { return ema_beginning_left(config, {steps, run.total, run.steps_per_epoch}); };
  if (left(run.total) <= kMuchAtTheEnd) return "";
  std::string text =
      fmt::format("train.ema: of the averaged weights {:.0f} % are still those of step {} at the end of the run (step {})",
                  100 * left(run.total), config.start.steps(run.steps_per_epoch, run.total), run.total);
  if (first_evaluation > 0 && first_evaluation < run.total)
    text += fmt::format(", {:.0f} % at the first evaluation (step {})", 100 * left(first_evaluation), first_evaluation);
  text += ". Evaluation, the choice of the best checkpoint and early stopping look at this average. Set ";
  text += config.smoothing > 0 ? "a smaller train.ema.smoothing" : "a shorter train.ema.half_life";
  return text + (config.warmup ? "" : ", or train.ema.warmup=true");
}

}  // namespace tessera
