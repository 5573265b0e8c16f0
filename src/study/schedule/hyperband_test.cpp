#include "study/schedule/hyperband.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/rng.h"
#include "support/recorded_reports.h"

namespace tessera {
namespace {

using Kind = Decision::Kind;

TEST(Hyperband, BracketsAreThoseOfThePaper) {
  // Table 1 of Li et al. 2018, with ceil((s_max + 1) / (s + 1) * 3^s) trials.
  EXPECT_EQ(Hyperband::shapes({.max = 81, .reduction = 3}),
            (std::vector<Hyperband::Shape>{
                {81, {1, 3, 9, 27, 81}}, {34, {3, 9, 27, 81}}, {15, {9, 27, 81}}, {8, {27, 81}}, {5, {81}}}));
  EXPECT_EQ(Hyperband::shapes({.max = 20, .grace = 2, .reduction = 3}),
            (std::vector<Hyperband::Shape>{{9, {3, 7, 20}}, {5, {7, 20}}, {3, {20}}}));
}

// max 4, reduction 2: brackets of 4 trials from step 1, 3 from step 2, 3 to the end.
const HyperbandConfig kSmall{.max = 4, .reduction = 2};

TEST(Hyperband, ARungWaitsForAllItsTrials) {
  Hyperband scheduler(kSmall, {});
  RecordedReports reports({{0.5, 0.5, 0.5, 0.5}, {0.4}, {0.6, 0.4}, {0.1}, {0.1, 0.1}});
  EXPECT_EQ(reports.run(scheduler, 0).kind, Kind::kPause);
  EXPECT_EQ(reports.run(scheduler, 1).kind, Kind::kPause);
  EXPECT_FALSE(scheduler.promote());
  // 0.6 is certain to be among the best two of four? The one that is missing may be better, and 0.5 is worse: yes.
  EXPECT_EQ(reports.begin(scheduler, 2).until, 1);
  EXPECT_EQ(reports.report(scheduler, 2).until, 2);
  EXPECT_FALSE(scheduler.promote());  // 0.5 is the second of the three
  EXPECT_EQ(reports.run(scheduler, 3).kind, Kind::kStop);
  EXPECT_EQ(scheduler.promote(), (Promotion{.trial = 0, .until = 2}));
  reports.take(scheduler, *scheduler.promote());
  EXPECT_EQ(reports.report(scheduler, 2).kind, Kind::kPause);
  EXPECT_EQ(reports.report(scheduler, 0).until, 4);  // 0.5 > 0.4, of two one goes on
  EXPECT_EQ(reports.run(scheduler, 0).kind, Kind::kFinish);
  EXPECT_FALSE(scheduler.promote());
  EXPECT_EQ(reports.begin(scheduler, 4).until, 2);  // the next bracket begins later
}

TEST(Hyperband, ThoseThatFailDoNotHoldUpTheirRung) {
  Hyperband scheduler(kSmall, {.direction = Direction::kMinimize});
  RecordedReports reports({{0.5, 0.5}, {0.4, 0.4}, {0.6}, {0.7}});
  EXPECT_EQ(reports.run(scheduler, 0).kind, Kind::kPause);
  EXPECT_EQ(reports.run(scheduler, 1).kind, Kind::kPause);
  reports.begin(scheduler, 2);
  reports.end(scheduler, 2, TrialState::kFailed);
  EXPECT_EQ(scheduler.promote(), (Promotion{.trial = 1, .until = 2}));
  reports.take(scheduler, *scheduler.promote());
  reports.begin(scheduler, 3);
  reports.end(scheduler, 3, TrialState::kFailed);
  EXPECT_EQ(scheduler.promote(), (Promotion{.trial = 0, .until = 2}));
  reports.take(scheduler, *scheduler.promote());
  reports.end(scheduler, 1, TrialState::kFailed);
  reports.report(scheduler, 0);
  EXPECT_EQ(scheduler.promote(), std::nullopt);
  EXPECT_EQ(reports.trial(0).state, TrialState::kRunning);
}

TEST(Hyperband, TheLastBracketHasWhatIsLeft) {
  Hyperband scheduler(kSmall, {.num_trials = 2});
  RecordedReports reports({{0.5}, {0.6, 0.6}});
  EXPECT_EQ(reports.run(scheduler, 0).kind, Kind::kPause);
  reports.begin(scheduler, 1);
  EXPECT_EQ(reports.report(scheduler, 1).until, 2);  // of two one goes on
  EXPECT_EQ(reports.report(scheduler, 1).until, 4);  // of one as well: it is not given up
}

TEST(Hyperband, DecidesAlikeWhoeverIsFasterAndWhenStartedAgain) {
  Rng rng(2, Stream::kStudy);
  const HyperbandConfig config{.max = 27, .reduction = 3};
  std::vector<std::vector<double>> values(90, std::vector<double>(27));  // 27 + 12 + 6 + 4 = 49 trials a round
  for (auto& row : values) {
    const double best = rng.uniform();
    for (double& value : row) value = best + 0.1 * rng.normal();
  }
  std::vector<size_t> lengths;
  for (const int slots : {1, 4, 30}) {
    Hyperband scheduler(config, {.num_trials = 90});
    RecordedReports reports(values);
    std::vector<int64_t> running;
    int64_t next = 0;
    while (true) {
      while (static_cast<int>(running.size()) < slots) {
        const auto promotion = scheduler.promote();
        if (promotion) {
          reports.take(scheduler, *promotion);
        } else if (next < 90) {
          reports.begin(scheduler, next);
        } else {
          break;
        }
        running.push_back(promotion ? promotion->trial : next++);
      }
      if (running.empty()) break;
      const size_t place = rng.below(static_cast<uint32_t>(running.size()));
      Hyperband again(config, {.num_trials = 90});
      reports.tell(again);
      EXPECT_EQ(again.promote(), scheduler.promote());
      if (reports.report(scheduler, running[place]).kind != Kind::kGoOn)
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(place));
    }
    std::vector<size_t> reached;
    for (const Trial& trial : reports.trials()) reached.push_back(trial.reports.size());
    if (lengths.empty()) lengths = reached;
    EXPECT_EQ(reached, lengths) << slots << " slots";
  }
  EXPECT_EQ(std::count(lengths.begin(), lengths.begin() + 27, 1u), 18);
  EXPECT_EQ(std::count(lengths.begin(), lengths.begin() + 27, 27u), 1);
}

TEST(Hyperband, RefusesOneRung) {
  EXPECT_THROW(Hyperband({.max = 2, .grace = 1, .reduction = 3}, {}), UsageError);
}

TEST(Hyperband, RefusesThousandsOfRungs) {
  EXPECT_THROW(Hyperband({.max = 1000000, .grace = 1, .reduction = 1.0001}, {}), UsageError);
  EXPECT_EQ(Hyperband::shapes({.max = 100, .grace = 1, .reduction = 1.5}).size(), 12U);
}

}  // namespace
}  // namespace tessera
