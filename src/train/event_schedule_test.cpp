#include "train/event_schedule.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// 10 steps an epoch, 25 in all; evaluates and saves every epoch.
Experiment three_epochs() {
  Experiment e;
  e.eval.every = Duration::epochs(1);
  e.checkpoint.every = Duration::epochs(1);
  e.run.log_every = Duration::batches(4);
  return e;
}

constexpr EventSchedule::Length kLength{.steps_per_epoch = 10, .total = 25, .last = 25};

TrainState at(int64_t step) {
  TrainState state;
  state.step = step;
  return state;
}

TEST(EventSchedule, SavesAndEvaluatesOnceAtItsIntervalAndAtTheEnd) {
  EventSchedule events(three_epochs(), kLength, /*evaluates=*/true, /*measures=*/false);
  for (const int64_t step : {0, 1, 9, 11, 24}) EXPECT_FALSE(events.any_due(at(step))) << step;
  for (const int64_t step : {10, 20, 25}) {
    EXPECT_TRUE(events.save_due(at(step))) << step;
    EXPECT_TRUE(events.evaluation_due(at(step))) << step;
    EXPECT_TRUE(events.evaluation_counts(at(step))) << step;
  }
  EXPECT_FALSE(events.complete(at(25)));
  events.note_saved(at(25));
  events.note_evaluated(at(25));
  EXPECT_TRUE(events.complete(at(25)));
  EXPECT_TRUE(events.save_due(at(20)));  // another step
}

TEST(EventSchedule, AnEvaluationOfTheCheckpointIsNotRepeated) {
  EventSchedule events(three_epochs(), kLength, true, false);
  TrainState state = at(20);
  state.evaluated_step = 20;
  EXPECT_FALSE(events.evaluation_due(state));
}

TEST(EventSchedule, ABestStepIsSavedBetweenIntervals) {
  Experiment e = three_epochs();
  e.checkpoint.every = Duration::epochs(0);
  TrainState state = at(10);
  EXPECT_FALSE(EventSchedule(e, kLength, true, false).save_due(state));
  state.best_step = 10;
  EXPECT_TRUE(EventSchedule(e, kLength, true, false).save_due(state));
  e.checkpoint.keep_best = false;
  EXPECT_FALSE(EventSchedule(e, kLength, true, false).save_due(state));
}

TEST(EventSchedule, ACallThatEndsEarlyEvaluatesAndSavesWithoutCounting) {
  EventSchedule events(three_epochs(), {.steps_per_epoch = 10, .total = 25, .last = 13}, true, false);
  EXPECT_FALSE(events.finished(at(12)));
  EXPECT_TRUE(events.finished(at(13)));
  EXPECT_TRUE(events.save_due(at(13)));
  EXPECT_TRUE(events.evaluation_due(at(13)));
  EXPECT_FALSE(events.evaluation_counts(at(13)));
}

TEST(EventSchedule, PatienceEndsARun) {
  Experiment e = three_epochs();
  e.checkpoint.early_stop = 2;
  const EventSchedule events(e, kLength, true, false);
  TrainState state = at(20);
  state.evals_since_best = 1;
  EXPECT_FALSE(events.finished(state));
  state.evals_since_best = 2;
  EXPECT_TRUE(events.finished(state));
  EXPECT_TRUE(events.patience_is_over(state));
}

TEST(EventSchedule, ZeroEpochsMeansOnlyAtTheEnd) {
  Experiment e = three_epochs();
  e.eval.every = Duration::epochs(0);
  const EventSchedule events(e, kLength, true, false);
  EXPECT_FALSE(events.evaluation_due(at(10)));
  EXPECT_TRUE(events.evaluation_due(at(25)));
  EXPECT_EQ(events.evaluates_every(), 0);
}

TEST(EventSchedule, WithoutValidationSamplesNothingIsEvaluated) {
  const EventSchedule events(three_epochs(), kLength, /*evaluates=*/false, false);
  EXPECT_FALSE(events.evaluation_due(at(10)));
  EXPECT_EQ(events.evaluates_every(), 0);
}

TEST(EventSchedule, StatisticsAreMeasuredWhereTheConfigEvaluates) {
  EventSchedule events(three_epochs(), kLength, true, /*measures=*/true);
  EXPECT_FALSE(events.statistics_due(at(9)));
  EXPECT_TRUE(events.statistics_due(at(10)));
  events.note_measured(at(10));
  EXPECT_FALSE(events.statistics_due(at(10)));
}

TEST(EventSchedule, LogsTheFirstTheLastAndEveryFewSteps) {
  const EventSchedule events(three_epochs(), kLength, true, false);
  for (const int64_t step : {1, 4, 24, 25}) EXPECT_TRUE(events.log_due(at(step))) << step;
  for (const int64_t step : {2, 3, 23}) EXPECT_FALSE(events.log_due(at(step))) << step;
}

}  // namespace
}  // namespace tessera
