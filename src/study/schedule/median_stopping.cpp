#include "study/schedule/median_stopping.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

// Of ascending values, without the one at a place.
double median_without(const std::vector<double>& values, std::optional<size_t> left_out) {
  const size_t count = values.size() - (left_out ? 1 : 0);
  const auto at = [&](size_t place) { return values[place + (left_out && place >= *left_out ? 1 : 0)]; };
  return count % 2 == 1 ? at(count / 2) : (at(count / 2 - 1) + at(count / 2)) / 2;
}

}  // namespace

std::optional<double> MedianStopping::Sums::average_up_to(int64_t step) const {
  if (steps.empty() || steps.back() < step) return {};
  const auto count = std::upper_bound(steps.begin(), steps.end(), step) - steps.begin();
  if (count == 0) return {};
  const double average = sums[static_cast<size_t>(count) - 1] / static_cast<double>(count);
  return std::isfinite(average) ? std::optional(average) : std::nullopt;
}

void MedianStopping::observe(const Trial& trial) {
  if (trial.number < 0) return;  // of an earlier study
  if (trial.state == TrialState::kPaused) {
    paused_.insert(trial.number);
  } else {
    paused_.erase(trial.number);
  }
  add_reports(trial);
}

void MedianStopping::add_reports(const Trial& trial) {
  Sums& sums = trials_[trial.number];
  const bool is_new = sums.steps.empty();
  const int64_t last = is_new ? 0 : sums.steps.back();
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
  for (auto at = is_new ? averages_.begin() : averages_.upper_bound(last); at != averages_.end(); ++at) {
    auto& [step, averages] = *at;
    if (const std::optional<double> average = sums.average_up_to(step))
      averages.insert(std::lower_bound(averages.begin(), averages.end(), *average), *average);
  }
}

const std::vector<double>& MedianStopping::averages_up_to(int64_t step) {
  const auto [entry, is_new] = averages_.try_emplace(step);
  std::vector<double>& averages = entry->second;
  if (!is_new) return averages;
  for (const auto& [number, sums] : trials_) {
    if (const std::optional<double> average = sums.average_up_to(step)) averages.push_back(*average);
  }
  std::sort(averages.begin(), averages.end());
  return averages;
}

Decision MedianStopping::decide(const Trial& trial) {
  observe(trial);
  if (trial.reports.empty() || trial.reports.back().step < config_.grace) return {};
  const int64_t step = trial.reports.back().step;
  const std::vector<double>& averages = averages_up_to(step);
  std::optional<size_t> own;
  if (const std::optional<double> average = trials_.at(trial.number).average_up_to(step))
    own = static_cast<size_t>(std::lower_bound(averages.begin(), averages.end(), *average) - averages.begin());
  const size_t others = averages.size() - (own ? 1 : 0);
  if (static_cast<int64_t>(others) < config_.samples) return {};
  double best = -std::numeric_limits<double>::infinity();
  for (const Report& report : trial.reports) best = std::max(best, score_of(report.value, context_.direction));
  const double limit = median_without(averages, own), sign = context_.direction == Direction::kMaximize ? 1 : -1;
  if (best >= limit) return {};
  return {.kind = Decision::Kind::kStop,
          .reason = fmt::format("the best so far, {:.6g}, is worse than {:.6g}, the median of {} others up to step {}",
                                sign * best, sign * limit, others, step)};
}

std::optional<Promotion> MedianStopping::promote() {
  if (paused_.empty()) return std::nullopt;
  return Promotion{.trial = *paused_.begin()};
}

}  // namespace tessera
