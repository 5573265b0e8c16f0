#include "study/schedule/median_stopping.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/rng.h"
#include "support/recorded_reports.h"

namespace tessera {
namespace {

using Kind = Decision::Kind;

TEST(MedianStopping, StopsWhoWasNeverAsGoodAsTheOthersOnAverage) {
  MedianStopping scheduler({.grace = 2, .samples = 2}, {});
  RecordedReports reports({{0, 0.4, 0.6}, {0, 0.2, 0.4}, {0.9, 0.1, 0.1}, {0, 0.19}});
  for (const int64_t number : {0, 1, 2}) {
    reports.begin(scheduler, number);
    // Nobody, or one alone, to compare with; and 0.9, though it came before `grace`, is better than all averages.
    for (int i = 0; i < 3; ++i) EXPECT_EQ(reports.report(scheduler, number).kind, Kind::kGoOn) << number;
  }
  const Decision stop = reports.run(scheduler, 3);
  EXPECT_EQ(stop.kind, Kind::kStop);
  EXPECT_EQ(stop.reason, "the best so far, 0.19, is worse than 0.2, the median of 3 others up to step 2");
}

// What the rule says, computed from all reports at every decision.
bool is_stopped(const std::vector<Trial>& trials, const Trial& trial, const MedianConfig& config) {
  const int64_t step = trial.reports.back().step;
  if (step < config.grace) return false;
  std::vector<double> averages;
  for (const Trial& other : trials) {
    if (other.number == trial.number || other.reports.empty() || other.reports.back().step < step) continue;
    double sum = 0;
    int count = 0;
    for (const Report& report : other.reports) {
      if (report.step < config.grace || report.step > step) continue;
      sum += std::isnan(report.value) ? -std::numeric_limits<double>::infinity() : report.value;
      ++count;
    }
    if (count > 0 && std::isfinite(sum)) averages.push_back(sum / count);
  }
  if (static_cast<int64_t>(averages.size()) < config.samples) return false;
  std::sort(averages.begin(), averages.end());
  const size_t middle = averages.size() / 2;
  const double median = averages.size() % 2 == 1 ? averages[middle] : (averages[middle - 1] + averages[middle]) / 2;
  double best = -std::numeric_limits<double>::infinity();
  for (const Report& report : trial.reports) best = std::isnan(report.value) ? best : std::max(best, report.value);
  return best < median;
}

TEST(MedianStopping, KeepsItsAveragesUpToDate) {
  const MedianConfig config{.grace = 2, .samples = 3};
  MedianStopping scheduler(config, {});
  Rng rng(11, Stream::kStudy);
  std::vector<Trial> trials;
  int stopped = 0;
  for (int i = 0; i < 3000; ++i) {
    // Some report at every step, some at every other one, and now and then what is reported is no number.
    if (trials.size() < 60 && (trials.empty() || rng.uniform() < 0.1)) trials.push_back({.number = std::ssize(trials)});
    Trial& trial = trials[rng.below(static_cast<uint32_t>(trials.size()))];
    if (is_finished(trial.state)) continue;
    const int64_t last = trial.reports.empty() ? 0 : trial.reports.back().step;
    const double value = rng.uniform() < 0.02
                             ? std::numeric_limits<double>::quiet_NaN()
                             : std::round(50 * (0.2 * static_cast<double>(trial.number % 7) + rng.normal())) / 50;
    trial.reports.push_back({last + 1 + trial.number % 2, value});
    const bool stops = scheduler.decide(trial).kind == Kind::kStop;
    ASSERT_EQ(stops, is_stopped(trials, trial, config)) << trial.number << " at " << trial.reports.back().step;
    if (stops) trial.state = TrialState::kStopped;
    stopped += stops ? 1 : 0;
    if (i % 500 == 0) {  // a controller that is started again
      scheduler = MedianStopping(config, {});
      for (const Trial& told : trials) scheduler.observe(told);
    }
  }
  EXPECT_GT(stopped, 10);
  EXPECT_LT(stopped, 60);
}

TEST(MedianStopping, PausedTrialsGoOnInTheirOrder) {
  MedianStopping scheduler({}, {});
  scheduler.observe({.number = 4, .state = TrialState::kPaused});
  scheduler.observe({.number = 2, .state = TrialState::kPaused});
  EXPECT_EQ(scheduler.promote(), Promotion{.trial = 2});
  scheduler.observe({.number = 2, .state = TrialState::kRunning});
  EXPECT_EQ(scheduler.promote(), Promotion{.trial = 4});
  scheduler.observe({.number = 4, .state = TrialState::kRunning});
  EXPECT_FALSE(scheduler.promote());
}

}  // namespace
}  // namespace tessera
