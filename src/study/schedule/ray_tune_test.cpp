#include <gtest/gtest.h>

#include "study/schedule/asha.h"
#include "study/schedule/median_stopping.h"
#include "study/schedule/population_training.h"
#include "support/fixtures.h"
#include "support/recorded_reports.h"

// Against Ray Tune's own decisions on the same reports: tests/interop/make_ray_tune.py.
namespace tessera {
namespace {

using nlohmann::json;

ScheduleContext context_of(const json& recorded) {
  return {.direction = recorded.at("mode") == "max" ? Direction::kMaximize : Direction::kMinimize};
}

// Plays the reports in their order. At `max` Ray stops what we call complete.
int play(const json& recorded, Scheduler& scheduler) {
  RecordedReports reports(recorded.at("reports"));
  for (size_t i = 0; i < reports.trials().size(); ++i) reports.begin(scheduler, static_cast<int64_t>(i));
  int stopped = 0;
  for (const json& event : recorded.at("events")) {
    const Decision decision = reports.report(scheduler, event[0]);
    const bool ends = decision.kind != Decision::Kind::kGoOn;
    if (event[1] == 2) reports.end(scheduler, event[0], TrialState::kFailed);
    EXPECT_EQ(ends, event[1] == 1) << "trial " << event[0] << " at " << reports.trial(event[0]).reports.back().step;
    stopped += decision.kind == Decision::Kind::kStop ? 1 : 0;
    EXPECT_EQ(decision.kind == Decision::Kind::kStop, !decision.reason.empty());
  }
  return stopped;
}

TEST(RayTuneInterop, Asha) {
  for (const json& recorded : testing::load_fixture("ray_tune.json").at("asha")) {
    Asha scheduler({.max = recorded.at("max"), .grace = recorded.at("grace"), .reduction = recorded.at("reduction")},
                   context_of(recorded));
    EXPECT_GT(play(recorded, scheduler), 10);
  }
}

TEST(RayTuneInterop, MedianStopping) {
  for (const json& recorded : testing::load_fixture("ray_tune.json").at("median")) {
    MedianStopping scheduler({.grace = recorded.at("grace"), .samples = recorded.at("samples")}, context_of(recorded));
    EXPECT_GT(play(recorded, scheduler), 5);
  }
}

TEST(RayTuneInterop, QuantilesOfPopulations) {
  for (const json& recorded : testing::load_fixture("ray_tune.json").at("pbt")) {
    const Quantiles found = quantiles(recorded.at("scores"), recorded.at("quantile"));
    EXPECT_EQ(found.lowest, recorded.at("lowest").get<std::vector<size_t>>()) << recorded;
    EXPECT_EQ(found.highest, recorded.at("highest").get<std::vector<size_t>>()) << recorded;
  }
}

}  // namespace
}  // namespace tessera
