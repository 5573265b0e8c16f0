#include "train/time_limit.h"

#include <gtest/gtest.h>

#include "core/clock.h"

namespace tessera {
namespace {

TEST(TimeLimit, WithoutOneThereIsAlwaysTime) {
  TimeLimit none(std::nullopt);
  EXPECT_FALSE(none.leaves_no_turn());
  EXPECT_FALSE(none.leaves_no_time());
}

TEST(TimeLimit, AnHourIsEnoughForATurnAndAMomentIsNot) {
  TimeLimit hour(monotonic_s() + 3600), moment(monotonic_s() + 0.5);
  for (int turn = 0; turn < 3; ++turn) EXPECT_FALSE(hour.leaves_no_turn());
  EXPECT_TRUE(moment.leaves_no_turn());
  EXPECT_TRUE(moment.leaves_no_time());
}

// A turn of a second and a half took place; of the three that were given, one is kept for saving.
TEST(TimeLimit, TheLongestTurnMustFit) {
  const double begin = monotonic_s();
  TimeLimit limit(begin + 3);
  EXPECT_FALSE(limit.leaves_no_turn());
  while (monotonic_s() < begin + 1.2) {
  }
  EXPECT_TRUE(limit.leaves_no_turn());
  EXPECT_FALSE(monotonic_s() < begin + 1.9 && limit.leaves_no_time());
}

}  // namespace
}  // namespace tessera
