#include "study/lr_range.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tessera {
namespace {

// 1 up to a rate of 1e-4, then falling to 0.2 around 1e-2, and rising again: a parabola over the logarithm.
double valley(double rate) {
  const double at = std::log10(rate) + 2;
  return at < -2 ? 1 : std::min(100.0, 0.2 + 0.2 * at * at * (at > 0 ? 20 : 1));
}

TEST(LrRange, RatesGoFromLowToHighByOneFactor) {
  const LrSweep sweep{.low = 1e-6, .high = 1, .steps = 7};
  EXPECT_NEAR(sweep.factor(), 10, 1e-12);
  EXPECT_DOUBLE_EQ(sweep.rate(0), 1e-6);
  EXPECT_NEAR(sweep.rate(6), 1, 1e-12);
}

TEST(LrRange, FindsTheSlopeAndTheMinimum) {
  const LrSweep sweep{.low = 1e-6, .high = 10, .steps = 141};
  LrRangeTest test(sweep);
  while (!test.ended()) test.add(valley(sweep.rate(static_cast<int64_t>(test.size()))));
  EXPECT_TRUE(test.diverged());
  EXPECT_LT(test.size(), 141U);  // it did not go to the end
  const LrRangeCurve range = test.result();
  EXPECT_TRUE(range.falls);
  EXPECT_NEAR(std::log10(range.minimum), -2, 0.5);  // the steep side beyond lifts what is near it
  EXPECT_DOUBLE_EQ(range.tenth_of_minimum, range.minimum / 10);
  EXPECT_NEAR(std::log10(range.steepest), -3.9, 0.5);  // the parabola is steepest where it begins
}

TEST(LrRange, NoiseMovesItLittle) {
  const LrSweep sweep{.low = 1e-6, .high = 10, .steps = 141};
  LrRangeTest test(sweep);
  for (int64_t i = 0; !test.ended(); ++i) test.add(valley(sweep.rate(i)) + (i % 2 == 0 ? 0.05 : -0.05));
  EXPECT_NEAR(std::log10(test.result().minimum), -2, 0.5);
}

TEST(LrRange, ACurveThatNeverFallsGivesNoSuggestion) {
  const LrSweep sweep;
  LrRangeTest flat(sweep), rising(sweep);
  while (!flat.ended()) flat.add(1);
  for (int64_t i = 0; !rising.ended(); ++i) rising.add(1 + 0.01 * static_cast<double>(i));
  EXPECT_FALSE(flat.diverged());
  EXPECT_EQ(flat.size(), 100U);
  EXPECT_FALSE(flat.result().falls);
  EXPECT_FALSE(rising.result().falls);
}

TEST(LrRange, EndsWhereTheLossIsNoNumber) {
  LrRangeTest test({});
  for (int i = 0; i < 20; ++i) test.add(1.0 / (i + 1));
  test.add(std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(test.ended());
  EXPECT_EQ(test.result().losses.size(), 20U);
  EXPECT_TRUE(test.result().falls);
  LrRangeTest at_once({});
  at_once.add(std::numeric_limits<double>::infinity());
  EXPECT_TRUE(at_once.ended());
  EXPECT_FALSE(at_once.result().falls);
}

}  // namespace
}  // namespace tessera
