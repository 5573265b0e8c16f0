#include "optim/ema_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera {
namespace {

TEST(EmaSchedule, HalfLifeAndIntervalGiveComposersSmoothing) {
  EmaConfig config{.half_life = Duration::batches(1000), .update_interval = Duration::batches(10), .start = {}};
  EXPECT_EQ(ema_at(config, {8, 5000, 100}).weight, 0);
  EXPECT_NEAR(1 - ema_at(config, {9, 5000, 100}).weight, 0.993092, 5e-7);
  EXPECT_EQ(ema_at(config, {10, 5000, 100}).weight, 0);
  config = {.half_life = Duration::epochs(20), .update_interval = Duration::batches(1), .start = {}};  // 2000 batches
  EXPECT_NEAR(1 - ema_at(config, {0, 5000, 100}).weight, 0.999653, 5e-7);
}

TEST(EmaSchedule, BeginsWhereAskedAndKeepsTheBeat) {
  const EmaConfig config{
      .half_life = {}, .smoothing = 0.75, .update_interval = Duration::batches(4), .start = Duration::share(0.5)};
  for (int64_t step = 0; step < 20; ++step) {
    const AverageStep now = ema_at(config, {step, 20, 5});
    EXPECT_EQ(now.runs, step >= 10) << step;
    EXPECT_EQ(now.weight, step == 11 || step == 15 || step == 19 ? 0.25 : 0) << step;
  }
}

// min(s, (1 + t) / (10 + t)), t being the updates before, as TensorFlow's ExponentialMovingAverage with num_updates. Here an
// average of one number follows one that grows, by both.
TEST(EmaSchedule, WarmupIsThatOfTensorFlow) {
  const EmaConfig config{.half_life = {},
                         .smoothing = 0.9,
                         .update_interval = Duration::batches(2),
                         .start = Duration::batches(5),
                         .warmup = true};
  double own = 5, reference = 5, updates = 0;
  for (int64_t step = 0; step < 400; ++step) {
    const double weight = static_cast<double>(step) + 1;
    const AverageStep now = ema_at(config, {step, 400, 10});
    EXPECT_EQ(now.runs, step >= 5);
    own += now.weight * (weight - own);
    if (step < 5 || (step + 1) % 2 != 0) continue;
    const double decay = std::min(0.9, (1 + updates) / (10 + updates));
    reference = decay * reference + (1 - decay) * weight;
    updates += 1;
    EXPECT_NEAR(own, reference, 1e-10) << step;  // 200 roundings of numbers up to 400
  }
}

TEST(EmaSchedule, WhatIsLeftOfTheBeginningIsTheProductOfWhatUpdatesKeep) {
  for (const bool warmup : {false, true}) {
    const EmaConfig config{.half_life = {},
                           .smoothing = 0.98,
                           .update_interval = Duration::batches(3),
                           .start = Duration::batches(10),
                           .warmup = warmup};
    EXPECT_EQ(ema_beginning_left(config, {10, 1000, 10}), 0);
    double left = 1;
    for (int64_t step = 10; step < 1000; ++step) {
      left *= 1 - ema_at(config, {step, 1000, 10}).weight;
      EXPECT_NEAR(ema_beginning_left(config, {step + 1, 1000, 10}), left, 1e-12) << step;
    }
  }
}

TEST(EmaSchedule, AnAverageOfTheBeginningIsWarnedOf) {
  EmaConfig config{.half_life = {}, .smoothing = 0.9999, .update_interval = Duration::batches(1), .start = {}};
  const std::string text = ema_warning(config, 500, {0, 2000, 100});
  EXPECT_NE(text.find("82 % are still those of step 0 at the end of the run (step 2000)"), std::string::npos) << text;
  EXPECT_NE(text.find("95 % at the first evaluation (step 500)"), std::string::npos) << text;
  EXPECT_NE(text.find("train.ema.warmup=true"), std::string::npos) << text;
  EXPECT_EQ(ema_warning(config, 0, {0, 2000, 100}).find("first evaluation"), std::string::npos);
  config.warmup = true;
  EXPECT_EQ(ema_warning(config, 500, {0, 2000, 100}), "");
  config.warmup = false;
  config.smoothing = 0.99;
  EXPECT_EQ(ema_warning(config, 500, {0, 2000, 100}), "");
  EXPECT_EQ(ema_warning({}, 50, {0, 2000, 100}), "");
}

TEST(EmaSchedule, IsOffUnlessAskedFor) {
  EXPECT_FALSE(ema_at({}, {7, 20, 5}).runs);
}

}  // namespace
}  // namespace tessera
