#include "optim/ema_schedule.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(EmaSchedule, HalfLifeAndIntervalGiveComposersSmoothing) {
  EmaConfig config{.half_life = Duration::batches(1000), .update_interval = Duration::batches(10), .start = {}};
  EXPECT_EQ(ema_at(config, 8, 5000, 100).share, 0);
  EXPECT_NEAR(1 - ema_at(config, 9, 5000, 100).share, 0.993092, 5e-7);
  EXPECT_EQ(ema_at(config, 10, 5000, 100).share, 0);
  config = {.half_life = Duration::epochs(20), .update_interval = Duration::batches(1), .start = {}};  // 2000 batches
  EXPECT_NEAR(1 - ema_at(config, 0, 5000, 100).share, 0.999653, 5e-7);
}

TEST(EmaSchedule, BeginsWhereAskedAndKeepsTheBeat) {
  const EmaConfig config{
      .half_life = {}, .smoothing = 0.75, .update_interval = Duration::batches(4), .start = Duration::share(0.5)};
  for (int64_t step = 0; step < 20; ++step) {
    const EmaStep now = ema_at(config, step, 20, 5);
    EXPECT_EQ(now.runs, step >= 10) << step;
    EXPECT_EQ(now.share, step == 11 || step == 15 || step == 19 ? 0.25 : 0) << step;
  }
}

TEST(EmaSchedule, IsOffUnlessAskedFor) {
  EXPECT_FALSE(ema_at({}, 7, 20, 5).runs);
}

}  // namespace
}  // namespace tessera
