#include "study/schedule/population_training.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "study/schedule/copies.h"
#include "support/recorded_reports.h"

namespace tessera {
namespace {

using Kind = Decision::Kind;

ScheduleContext context() {
  return {.seed = 4, .space = Space({{.name = "lr", .low = 1e-4, .high = 1, .log = true}}), .num_trials = 4};
}

// Four trials whose rate is 0.1, 0.2, 0.3, 0.4; trial 0 is the worst at 2, trial 3 the best.
RecordedReports four() {
  RecordedReports reports({{0, 0.1, 0, 0.9}, {0, 0.3, 0, 0.8}, {0, 0.2, 0, 0.1}, {0, 0.4, 0, 0.7}});
  for (int64_t i = 0; i < 4; ++i) reports.trial(i).parameters = {{"lr", 0.1 * static_cast<double>(i + 1)}};
  return reports;
}

void copy(RecordedReports& reports, Scheduler& scheduler, int64_t number, int64_t from, const Assignment& parameters) {
  Trial& trial = reports.trial(number);
  add_copy(trial, {trial.reports.back().step, from, parameters});
  scheduler.observe(trial);
}

TEST(PopulationTraining, TheWorstTakesTheBestsWeights) {
  PopulationTraining scheduler({.interval = 2, .resample = 0}, context());
  RecordedReports reports = four();
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(reports.begin(scheduler, i).until, 2);
  for (const int64_t i : {1, 2, 3}) {
    EXPECT_EQ(reports.report(scheduler, i).until, 2);
    const Decision decision = reports.report(scheduler, i);
    // The second of two is judged, and so is the third of three: it is the best.
    EXPECT_EQ(decision.kind, i == 2 ? Kind::kCopy : Kind::kGoOn);
    if (decision.kind == Kind::kCopy) copy(reports, scheduler, i, decision.from, decision.parameters);
    EXPECT_EQ(decision.until, 4);
  }
  EXPECT_EQ(copies_of(reports.trial(2)).at(0).from, 1);
  reports.report(scheduler, 0);
  const Decision decision = reports.report(scheduler, 0);
  EXPECT_EQ(decision.kind, Kind::kCopy);
  EXPECT_EQ(decision.from, 3);
  const double rate = decision.parameters.at("lr");
  EXPECT_TRUE(rate == 0.4 * 0.8 || rate == 0.4 * 1.2) << rate;
  EXPECT_FALSE(scheduler.promote());
}

TEST(PopulationTraining, InStepEverybodyWaitsForTheLast) {
  PopulationTraining scheduler({.interval = 2, .max = 4, .resample = 0, .synch = true}, context());
  RecordedReports reports = four();
  for (int64_t i = 0; i < 4; ++i) reports.begin(scheduler, i);
  for (const int64_t i : {0, 1, 2}) EXPECT_EQ(reports.run(scheduler, i).kind, Kind::kPause);
  EXPECT_FALSE(scheduler.promote());
  EXPECT_EQ(reports.report(scheduler, 3).until, 2);
  EXPECT_EQ(reports.report(scheduler, 3).until, 4);  // the last one, and the best, goes on at once
  const Promotion worst = scheduler.promote().value();
  EXPECT_EQ(worst.trial, 0);
  EXPECT_EQ(worst.from, 3);
  EXPECT_EQ(worst.until, 4);
  EXPECT_EQ(scheduler.promote(), worst);
  copy(reports, scheduler, 0, worst.from, worst.parameters);
  // Killed after the copy was noted: it is not taken twice.
  EXPECT_EQ(scheduler.promote(), (Promotion{.trial = 0, .until = 4}));
  reports.take(scheduler, worst);
  EXPECT_EQ(scheduler.promote(), (Promotion{.trial = 1, .until = 4}));
  reports.take(scheduler, *scheduler.promote());
  reports.take(scheduler, *scheduler.promote());
  EXPECT_EQ(reports.run(scheduler, 0).kind, Kind::kFinish);
  EXPECT_FALSE(scheduler.promote());
}

TEST(PopulationTraining, DecidesAlikeWhoeverIsLastAndWhenStartedAgain) {
  std::vector<std::vector<double>> rates;
  for (const std::vector<int64_t>& order : {std::vector<int64_t>{0, 1, 2, 3}, {3, 1, 0, 2}, {2, 3, 1, 0}}) {
    const PopulationConfig config{.interval = 2, .resample = 0.5, .synch = true};
    PopulationTraining scheduler(config, context());
    RecordedReports reports = four();
    for (int64_t i = 0; i < 4; ++i) reports.begin(scheduler, i);
    for (const int64_t i : order) {
      Decision decision;
      while (reports.trial(i).state == TrialState::kRunning && reports.trial(i).reports.size() < 2)
        decision = reports.report(scheduler, i);
      if (decision.kind == Kind::kCopy) copy(reports, scheduler, i, decision.from, decision.parameters);
    }
    while (const auto promotion = scheduler.promote()) {
      PopulationTraining again(config, context());
      reports.tell(again);
      EXPECT_EQ(again.promote(), promotion);
      if (promotion->from >= 0) copy(reports, scheduler, promotion->trial, promotion->from, promotion->parameters);
      reports.take(scheduler, *promotion);
    }
    rates.emplace_back();
    for (const Trial& trial : reports.trials()) rates.back().push_back(current_parameters(trial).at("lr"));
  }
  EXPECT_EQ(rates[0], rates[1]);
  EXPECT_EQ(rates[0], rates[2]);
  EXPECT_NE(rates[0][0], 0.1);
  EXPECT_EQ(rates[0][1], 0.2);
}

TEST(PopulationTraining, TrialsThatFailAreNotWaitedFor) {
  PopulationTraining scheduler({.interval = 2, .synch = true}, context());
  RecordedReports reports = four();
  for (int64_t i = 0; i < 4; ++i) reports.begin(scheduler, i);
  for (const int64_t i : {1, 2, 3}) EXPECT_EQ(reports.run(scheduler, i).kind, Kind::kPause);
  reports.end(scheduler, 0, TrialState::kFailed);
  EXPECT_EQ(scheduler.promote()->trial, 1);
}

TEST(PopulationTraining, FewerSlotsThanTrialsTakeTurns) {
  PopulationTraining scheduler({.interval = 2, .quantile = 0}, context());
  RecordedReports reports = four();
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_FALSE(scheduler.promote());  // the new ones first
    EXPECT_EQ(reports.run(scheduler, i).kind, Kind::kPause);
  }
  reports.begin(scheduler, 3);
  EXPECT_EQ(scheduler.promote(), (Promotion{.trial = 0, .until = 4}));
  reports.take(scheduler, *scheduler.promote());
  EXPECT_EQ(reports.run(scheduler, 3).kind, Kind::kPause);
  EXPECT_EQ(reports.run(scheduler, 0).kind, Kind::kPause);
  EXPECT_EQ(scheduler.promote()->trial, 1);  // 0 is further already
}

TEST(PopulationTraining, RefusesWhatCannotLearn) {
  EXPECT_THROW(PopulationTraining({}, context()), UsageError);
  EXPECT_THROW(PopulationTraining({.interval = 2, .population = 1}, context()), UsageError);
  EXPECT_THROW(PopulationTraining({.interval = 2}, {}), UsageError);
  EXPECT_THROW(PopulationTraining({.interval = 2, .max = 2}, context()), UsageError);
  EXPECT_THROW(PopulationTraining({.interval = 2, .mutate = {"rl"}}, context()), UsageError);
}

}  // namespace
}  // namespace tessera
