#include "optim/swa_schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera {
namespace {

// A run of 20 steps, 5 to an epoch: the average begins after step 10 and takes the weights after steps 12, 14, ...
TEST(SwaSchedule, TheNthUpdateHasTheWeightOneOverN) {
  SwaConfig config;
  config.start = Duration::epochs(2);
  config.update_interval = Duration::batches(2);
  double mean = -1, sum = 0;
  int updates = 0;
  for (int64_t step = 0; step < 20; ++step) {
    const AverageStep now = swa_at(config, {step, 20, 5});
    EXPECT_EQ(now.runs, step >= 11) << step;
    EXPECT_EQ(now.weight > 0, step >= 11 && step % 2 == 1) << step;
    if (now.weight == 0) continue;
    const auto value = static_cast<double>(step * step);
    mean += now.weight * (value - mean);
    sum += value;
    ++updates;
  }
  EXPECT_EQ(updates, 5);
  EXPECT_DOUBLE_EQ(mean, sum / updates);
  EXPECT_FALSE(swa_at({}, {19, 20, 5}).runs);
}

TEST(SwaSchedule, AnAverageThatNothingReachesIsWarnedOf) {
  SwaConfig config;
  config.start = Duration::share(0.9);
  EXPECT_NE(swa_warning(config, {0, 20, 5}).find("begins at step 18 and takes the weights every 5 steps"), std::string::npos);
  config.update_interval = Duration::batches(2);
  EXPECT_EQ(swa_warning(config, {0, 20, 5}), "");
  EXPECT_EQ(swa_warning({}, {0, 20, 5}), "");
}

// Cosine from 1 to 0 over 20 steps stands at 0.5 in step 10; the full rate is 0.4, that of SWA 0.1.
TEST(SwaSchedule, TheRateGoesFromWhereTheScheduleStoodToItsOwn) {
  SwaConfig config;
  config.start = Duration::share(0.5);
  config.lr = 0.1;
  config.anneal = Duration::batches(4);
  ScheduleConfig schedule;
  schedule.type = ScheduleType::kCosine;
  const LrRange range{0.4, 0};
  const auto rate = [&](int64_t step) { return range.at(swa_lr_point_at(config, 0.4, schedule, {step, 20, 5})); };
  EXPECT_DOUBLE_EQ(rate(9), range.at(lr_point_at(schedule, {9, 20, 5})));
  EXPECT_NEAR(rate(10), 0.2, 1e-15);
  EXPECT_NEAR(rate(12), 0.15, 1e-15);  // half of the way, with both shapes
  EXPECT_NEAR(rate(14), 0.1, 1e-15);
  EXPECT_NEAR(rate(19), 0.1, 1e-15);
  EXPECT_NEAR(rate(11), 0.1 + 0.1 * (1 + std::sqrt(0.5)) / 2, 1e-15);
  config.anneal_shape = AnnealShape::kLinear;
  EXPECT_NEAR(rate(11), 0.175, 1e-15);
  config.lr = 0;
  EXPECT_DOUBLE_EQ(rate(15), range.at(lr_point_at(schedule, {15, 20, 5})));
}

}  // namespace
}  // namespace tessera
