#include "optim/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "support/config_from_json.h"
#include "support/fixtures.h"

namespace tessera {
namespace {

constexpr int64_t kStepsPerEpoch = 5;  // of the fixture

double lr_at(const ScheduleConfig& config, double base_lr, int64_t step, int64_t total, int64_t steps_per_epoch) {
  OptimizerConfig optimizer;
  optimizer.lr = base_lr;
  return lr_range(optimizer, config, 1).at(lr_point_at(config, {step, total, steps_per_epoch}));
}

TEST(Schedule, EveryStepIsThatOfTorch) {
  const auto fixture = testing::load_fixture("torch_optim.json");
  ASSERT_EQ(fixture.at("schedules").size(), 11);
  for (const auto& entry : fixture.at("schedules")) {
    const ScheduleConfig config = testing::config_from_json<ScheduleConfig>(entry.at("config"));
    const int64_t total = entry.at("total");
    const auto rates = entry.at("lr").get<std::vector<double>>();
    ASSERT_EQ(static_cast<int64_t>(rates.size()), total);
    check_schedule(config);
    for (int64_t step = 0; step < total; ++step) {
      // torch multiplies its rate on from step to step: 20 roundings of 1e-16.
      EXPECT_NEAR(lr_at(config, entry.at("base_lr"), step, total, kStepsPerEpoch), rates[step], 1e-14)
          << entry.at("config") << " step " << step;
      if (!entry.contains("momentum")) continue;
      EXPECT_NEAR(momentum_at(config, {step, total}).value(), entry.at("momentum")[static_cast<size_t>(step)], 1e-14) << step;
    }
  }
}

TEST(Schedule, PolyEndsAtTheFinalRateAndStaysThere) {
  ScheduleConfig config;  // poly 0.9
  config.final_lr = 1e-5;
  EXPECT_DOUBLE_EQ(lr_at(config, 1e-3, 0, 100, 10), 1e-3);
  EXPECT_DOUBLE_EQ(lr_at(config, 1e-3, 50, 100, 10), 1e-5 + (1e-3 - 1e-5) * std::pow(0.5, 0.9));
  EXPECT_DOUBLE_EQ(lr_at(config, 1e-3, 100, 100, 10), 1e-5);
  EXPECT_DOUBLE_EQ(lr_at(config, 1e-3, 130, 100, 10), 1e-5);
}

TEST(Schedule, RunShorterThanItsWarmupStillRises) {
  ScheduleConfig config;
  config.warmup = Duration::batches(10);
  config.warmup_start = 0;
  EXPECT_DOUBLE_EQ(lr_at(config, 1.0, 4, 5, 5), 0.4);
}

TEST(Schedule, OneCycleOfOneStepAndWithoutARiseIsFinite) {
  ScheduleConfig config;
  config.type = ScheduleType::kOneCycle;
  for (const double pct_start : {0.0, 0.3, 1.0}) {
    config.pct_start = pct_start;
    for (const int64_t total : {1, 2, 3}) {
      for (int64_t step = 0; step < total; ++step) {
        EXPECT_TRUE(std::isfinite(lr_at(config, 0.1, step, total, 1)));
        EXPECT_TRUE(std::isfinite(momentum_at(config, {step, total}).value()));
      }
    }
  }
}

TEST(Schedule, MomentumIsLeftAloneUnlessAsked) {
  ScheduleConfig config;
  EXPECT_FALSE(momentum_at(config, {3, 10}).has_value());
  config.type = ScheduleType::kOneCycle;
  config.cycle_momentum = false;
  EXPECT_FALSE(momentum_at(config, {3, 10}).has_value());
}

TEST(Schedule, ContradictionsAreRefused) {
  ScheduleConfig config;
  config.type = ScheduleType::kStep;
  EXPECT_THROW(check_schedule(config), UsageError);
  config.type = ScheduleType::kOneCycle;
  config.warmup = Duration::epochs(1);
  EXPECT_THROW(check_schedule(config), UsageError);
}

TEST(Schedule, TheFullRateIsScaledToTheBatchAsAsked) {
  OptimizerConfig config;
  config.lr = 0.1;
  config.base_batch = 16;
  EXPECT_DOUBLE_EQ(lr_range(config, {}, 144).full, 0.1);
  config.lr_scaling = LrScaling::kLinear;
  EXPECT_DOUBLE_EQ(lr_range(config, {}, 144).full, 0.9);
  EXPECT_DOUBLE_EQ(lr_range(config, {}, 4).full, 0.025);
  config.lr_scaling = LrScaling::kSqrt;
  EXPECT_DOUBLE_EQ(lr_range(config, {}, 144).full, 0.3);
}

TEST(Schedule, GroupsEndAtTheFinalRateButNoneAboveItsOwn) {
  OptimizerConfig optimizer;
  optimizer.lr = 0.01;
  ScheduleConfig config;  // poly
  config.final_lr = 1e-4;
  const LrRange lr = lr_range(optimizer, config, 1);
  const LrPoint end = lr_point_at(config, {100, 100, 10});
  EXPECT_DOUBLE_EQ(lr.of_group(10).at(lr_point_at(config, {0, 100, 10})), 0.1);
  EXPECT_DOUBLE_EQ(lr.of_group(10).at(end), 1e-4);
  EXPECT_DOUBLE_EQ(lr.of_group(0.5).at(end), 1e-4);
  for (const int64_t step : {0, 50, 100})
    EXPECT_DOUBLE_EQ(lr.of_group(0.001).at(lr_point_at(config, {step, 100, 10})), 1e-5) << step;
  EXPECT_EQ(lr.of_group(0).at(end), 0);
  config.type = ScheduleType::kStep;
  EXPECT_EQ(lr_range(optimizer, config, 1).final_lr, 0);
}

TEST(Schedule, AFinalRateAboveTheFullOneIsRefused) {
  OptimizerConfig optimizer;
  ScheduleConfig config;
  config.final_lr = 2 * optimizer.lr;
  EXPECT_THROW(lr_range(optimizer, config, 1), UsageError);
  optimizer.lr = 0;  // to learn nothing
  EXPECT_EQ(lr_range(optimizer, config, 1).final_lr, 0);
}

}  // namespace
}  // namespace tessera
