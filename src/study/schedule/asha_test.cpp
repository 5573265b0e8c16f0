#include "study/schedule/asha.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/rng.h"
#include "support/recorded_reports.h"

namespace tessera {
namespace {

using Kind = Decision::Kind;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Asha, RungsAreGraceTimesPowersOfTheReduction) {
  const AshaConfig config{.max = 30, .grace = 1, .reduction = 3};
  EXPECT_EQ(Asha::rung_steps(config, 0), (std::vector<int64_t>{1, 3, 9, 27}));
  EXPECT_EQ(Asha::rung_steps(config, 2), (std::vector<int64_t>{9, 27}));
  EXPECT_EQ(Asha::rung_steps({.max = 243, .grace = 1, .reduction = 3}, 0).back(), 243);  // not lost to rounding
  EXPECT_EQ(Asha::rung_steps({.max = 10, .grace = 2, .reduction = 1.5}, 0), (std::vector<int64_t>{2, 3, 5, 7}));
}

TEST(Asha, StopsWhoIsBelowTheQuantileSoFar) {
  // Rungs 1 and 2; with reduction 2 the limit is the median of the others.
  Asha scheduler({.max = 4, .grace = 1, .reduction = 2}, {});
  RecordedReports reports({{0.5, 0.6, 0.7, 0.7}, {0.3, 0.9}, {0.4, 0.9}, {0.45, 0.5}, {kNan}, {0.4, 0.65, 0.7, 0.8}});
  EXPECT_EQ(reports.begin(scheduler, 0).until, 1);
  EXPECT_EQ(reports.report(scheduler, 0).until, 2);        // the first one always goes on
  EXPECT_EQ(reports.run(scheduler, 1).kind, Kind::kStop);  // 0.3 < 0.5
  EXPECT_EQ(reports.report(scheduler, 0).until, 4);
  EXPECT_EQ(reports.report(scheduler, 0).until, 4);
  EXPECT_EQ(reports.report(scheduler, 0).kind, Kind::kFinish);
  reports.begin(scheduler, 2);
  EXPECT_EQ(reports.report(scheduler, 2).kind, Kind::kGoOn);  // 0.4 is the median of 0.3 and 0.5
  const Decision stop = reports.run(scheduler, 3);            // 0.45 > 0.4 at 1, 0.5 < 0.6 at 2
  EXPECT_EQ(stop.reason, "0.5 at step 2 is worse than 0.6, the limit of the best 1/2");
  EXPECT_EQ(reports.run(scheduler, 4).kind, Kind::kStop);
  EXPECT_FALSE(scheduler.promote());
}

TEST(Asha, PromotesTheBestOfEachRung) {
  Asha scheduler({.max = 9, .grace = 1, .reduction = 3, .rule = AshaRule::kPromote}, {.direction = Direction::kMinimize});
  const std::vector<double> far{0.5, 0, 0.2, 0, 0, 0, 0, 0, 0.1};
  RecordedReports reports({{0.7}, far, {0.6}, {0.4, 0.4, 0.4}, {0.9}, {0.8}, {0.3, 0.3, 0.3}});
  EXPECT_EQ(reports.run(scheduler, 0).kind, Kind::kPause);
  EXPECT_EQ(reports.run(scheduler, 1).kind, Kind::kPause);
  EXPECT_FALSE(scheduler.promote());  // one third of two is none
  EXPECT_EQ(reports.run(scheduler, 2).kind, Kind::kPause);
  EXPECT_EQ(scheduler.promote(), (Promotion{.trial = 1, .until = 3}));
  EXPECT_EQ(scheduler.promote(), (Promotion{.trial = 1, .until = 3}));  // until it runs
  reports.take(scheduler, *scheduler.promote());
  EXPECT_FALSE(scheduler.promote());
  EXPECT_EQ(reports.run(scheduler, 1).kind, Kind::kPause);  // the only one at 3
  // Better than all at 1: it does not even pause there.
  reports.begin(scheduler, 3);
  EXPECT_EQ(reports.report(scheduler, 3).until, 3);
  EXPECT_EQ(reports.run(scheduler, 3).kind, Kind::kPause);
  // 1 was overtaken at rung 1, but of six trials two go on.
  EXPECT_EQ(reports.run(scheduler, 4).kind, Kind::kPause);
  EXPECT_EQ(reports.run(scheduler, 5).kind, Kind::kPause);
  EXPECT_FALSE(scheduler.promote());
  // The third at step 3: now the best there, trial 1, goes on to the end.
  reports.begin(scheduler, 6);
  reports.report(scheduler, 6);
  EXPECT_EQ(reports.run(scheduler, 6).kind, Kind::kPause);
  EXPECT_EQ(scheduler.promote(), (Promotion{.trial = 1, .until = 9}));
  reports.take(scheduler, *scheduler.promote());
  EXPECT_EQ(reports.run(scheduler, 1).kind, Kind::kFinish);  // a rung at `max` itself stops nobody
}

TEST(Asha, DecidesAlikeWhenStartedAgain) {
  for (const AshaRule rule : {AshaRule::kStop, AshaRule::kPromote}) {
    const AshaConfig config{.max = 20, .grace = 1, .reduction = 2, .brackets = 2, .rule = rule};
    const ScheduleContext context{.seed = 7};
    Rng rng(1, Stream::kStudy);
    std::vector<std::vector<double>> values(60, std::vector<double>(20));
    for (auto& row : values) {
      const double best = rng.uniform();
      for (double& value : row) value = best + 0.1 * rng.normal();
    }
    Asha scheduler(config, context);
    RecordedReports reports(values);
    std::array<int, 5> kinds{};
    for (int64_t next = 0; next < 60;) {
      // Three slots that take turns, promotions before new trials.
      const auto promotion = scheduler.promote();
      if (promotion) reports.take(scheduler, *promotion);
      const int64_t number = promotion ? promotion->trial : next++;
      if (!promotion) reports.begin(scheduler, number);
      while (true) {
        Asha again(config, context);
        reports.tell(again);
        const std::optional<Promotion> other = again.promote();
        EXPECT_EQ(other, scheduler.promote());
        Trial future = reports.trial(number);
        const Decision decision = reports.report(scheduler, number);
        const size_t at = future.reports.size();
        future.reports.push_back({static_cast<int64_t>(at) + 1, values[static_cast<size_t>(number)][at]});
        const Decision same = again.decide(future);
        ASSERT_EQ(decision.kind, same.kind);
        ASSERT_EQ(decision.until, same.until);
        ++kinds[static_cast<size_t>(decision.kind)];
        if (decision.kind != Kind::kGoOn) break;
      }
    }
    EXPECT_GT(kinds[static_cast<size_t>(rule == AshaRule::kStop ? Kind::kStop : Kind::kPause)], 20);
    EXPECT_GE(kinds[static_cast<size_t>(Kind::kFinish)], 2);
  }
}

TEST(Asha, BracketsAreDrawnByTheirRungs) {
  // Rungs 4, 3 and 2: weights 1, 1/e, 1/e^2.
  Asha scheduler({.max = 30, .grace = 1, .reduction = 3, .brackets = 3}, {.seed = 3});
  std::array<int, 3> count{};
  for (int64_t i = 0; i < 10000; ++i) ++count[scheduler.bracket_of(i)];
  EXPECT_NEAR(count[0], 6652, 200);
  EXPECT_NEAR(count[1], 2447, 200);
  EXPECT_NEAR(count[2], 900, 150);
}

TEST(Asha, RefusesRungsThatAreNone) {
  EXPECT_THROW(Asha({.max = 5, .grace = 5}, {}), UsageError);
  EXPECT_THROW(Asha({.max = 30, .grace = 1, .reduction = 3, .brackets = 5}, {}), UsageError);
}

}  // namespace
}  // namespace tessera
