#include "study/schedule/median_stopping.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

}  // namespace

void MedianStopping::observe(const Trial& trial) {
  if (trial.number < 0) return;  // of an earlier study
  Sums& sums = trials_[trial.number];
  sums.paused = trial.state == TrialState::kPaused;
  const size_t known = static_cast<size_t>(sums.before_grace) + sums.steps.size();
  for (size_t i = known; i < trial.reports.size(); ++i) {
    const Report& report = trial.reports[i];
    if (report.step < config_.grace) {
      ++sums.before_grace;
      continue;
    }
    const double before = sums.sums.empty() ? 0 : sums.sums.back();
    sums.steps.push_back(report.step);
    sums.sums.push_back(before + score_of(report.value, context_.direction));
  }
}

std::vector<double> MedianStopping::averages_up_to(int64_t step, int64_t without) const {
  std::vector<double> averages;
  for (const auto& [number, sums] : trials_) {
    if (number == without || sums.steps.empty() || sums.steps.back() < step) continue;
    const auto count = std::upper_bound(sums.steps.begin(), sums.steps.end(), step) - sums.steps.begin();
    if (count == 0) continue;
    const double average = sums.sums[static_cast<size_t>(count) - 1] / static_cast<double>(count);
    if (std::isfinite(average)) averages.push_back(average);
  }
  return averages;
}

Decision MedianStopping::decide(const Trial& trial) {
  observe(trial);
  if (trial.reports.empty() || trial.reports.back().step < config_.grace) return {};
  const int64_t step = trial.reports.back().step;
  const std::vector<double> others = averages_up_to(step, trial.number);
  if (static_cast<int64_t>(others.size()) < config_.samples) return {};
  double best = -std::numeric_limits<double>::infinity();
  for (const Report& report : trial.reports) best = std::max(best, score_of(report.value, context_.direction));
  const double limit = median(others), sign = context_.direction == Direction::kMaximize ? 1 : -1;
  if (best >= limit) return {};
  return {.kind = Decision::Kind::kStop,
          .reason = fmt::format("the best so far, {:.6g}, is worse than {:.6g}, the median of {} others up to step {}",
                                sign * best, sign * limit, others.size(), step)};
}

std::optional<Promotion> MedianStopping::promote() {
  for (const auto& [number, sums] : trials_) {
    if (sums.paused) return Promotion{.trial = number};
  }
  return std::nullopt;
}

}  // namespace tessera
