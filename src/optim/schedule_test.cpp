#include "optim/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "support/fixtures.h"

namespace tessera {
namespace {

constexpr int64_t kStepsPerEpoch = 5;  // of the fixture

ScheduleConfig config_of(const nlohmann::json& values) {
  ScheduleConfig config;
  const auto& names = EnumNames<ScheduleType>::names;
  config.type =
      static_cast<ScheduleType>(std::find(names.begin(), names.end(), values.at("type").get<std::string>()) - names.begin());
  config.power = values.value("power", config.power);
  config.final_lr = values.value("final_lr", config.final_lr);
  config.gamma = values.value("gamma", config.gamma);
  config.warmup = Duration::parse(values.value("warmup", std::string("0ba")));
  config.warmup_start = values.value("warmup_start", config.warmup_start);
  config.pct_start = values.value("pct_start", config.pct_start);
  config.div = values.value("div", config.div);
  config.final_div = values.value("final_div", config.final_div);
  config.min_momentum = values.value("min_momentum", config.min_momentum);
  config.max_momentum = values.value("max_momentum", config.max_momentum);
  for (const auto& text : values.value("milestones", std::vector<std::string>()))
    config.milestones.push_back(Duration::parse(text));
  return config;
}

TEST(Schedule, EveryStepIsThatOfTorch) {
  const auto fixture = testing::load_fixture("torch_optim.json");
  ASSERT_EQ(fixture.at("schedules").size(), 11);
  for (const auto& entry : fixture.at("schedules")) {
    const ScheduleConfig config = config_of(entry.at("config"));
    const int64_t total = entry.at("total");
    const auto rates = entry.at("lr").get<std::vector<double>>();
    ASSERT_EQ(static_cast<int64_t>(rates.size()), total);
    check_schedule(config);
    for (int64_t step = 0; step < total; ++step) {
      // torch multiplies its rate on from step to step: 20 roundings of 1e-16.
      EXPECT_NEAR(lr_at(config, entry.at("base_lr"), step, total, kStepsPerEpoch), rates[static_cast<size_t>(step)], 1e-14)
          << entry.at("config") << " step " << step;
      if (!entry.contains("momentum")) continue;
      EXPECT_NEAR(momentum_at(config, step, total).value(), entry.at("momentum")[static_cast<size_t>(step)], 1e-14) << step;
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
        EXPECT_TRUE(std::isfinite(momentum_at(config, step, total).value()));
      }
    }
  }
}

TEST(Schedule, MomentumIsLeftAloneUnlessAsked) {
  ScheduleConfig config;
  EXPECT_FALSE(momentum_at(config, 3, 10).has_value());
  config.type = ScheduleType::kOneCycle;
  config.cycle_momentum = false;
  EXPECT_FALSE(momentum_at(config, 3, 10).has_value());
}

TEST(Schedule, ContradictionsAreRefused) {
  ScheduleConfig config;
  config.type = ScheduleType::kStep;
  EXPECT_THROW(check_schedule(config), Error);
  config.type = ScheduleType::kOneCycle;
  config.warmup = Duration::epochs(1);
  EXPECT_THROW(check_schedule(config), Error);
}

}  // namespace
}  // namespace tessera
