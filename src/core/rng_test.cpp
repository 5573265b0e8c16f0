#include "core/rng.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <set>

namespace tessera {
namespace {

// The known-answer vectors of the Random123 distribution.
TEST(Philox, MatchesPublishedVectors) {
  EXPECT_EQ(philox(0, 0, 0, 0, 0), (PhiloxBlock{{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}));
  EXPECT_EQ(philox(0x299f31d0a4093822, 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344),
            (PhiloxBlock{{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}));
}

TEST(Rng, IsAFunctionOfItsName) {
  Rng a(17, Stream::kAugment, 3, 9), b(17, Stream::kAugment, 3, 9);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(a.bits(), b.bits());
  std::set<uint32_t> firsts;
  for (uint64_t seed : {1, 2}) {
    for (auto stream : {Stream::kOrder, Stream::kAugment}) {
      for (uint64_t x : {0, 1}) {
        for (uint64_t y : {0, 1}) firsts.insert(Rng(seed, stream, x, y).bits());
      }
    }
  }
  EXPECT_EQ(firsts.size(), 16U);
}

TEST(Rng, ForkDoesNotDependOnWhatWasDrawn) {
  Rng fresh(1, Stream::kAugment), used(1, Stream::kAugment);
  for (int i = 0; i < 7; ++i) used.bits();
  EXPECT_EQ(fresh.fork(2).bits(), used.fork(2).bits());
  EXPECT_NE(fresh.fork(1).bits(), fresh.fork(2).bits());
}

TEST(Rng, NumbersHaveTheRightMoments) {
  Rng rng(5, Stream::kSynthetic);
  double sum = 0, normal_sum = 0, normal_squares = 0;
  int below[3] = {0, 0, 0};
  constexpr int kCount = 30000;
  for (int i = 0; i < kCount; ++i) {
    sum += rng.uniform();
    const double n = rng.normal();
    normal_sum += n;
    normal_squares += n * n;
    ++below[rng.below(3)];
  }
  EXPECT_NEAR(sum / kCount, 0.5, 0.01);
  EXPECT_NEAR(normal_sum / kCount, 0.0, 0.03);
  EXPECT_NEAR(normal_squares / kCount, 1.0, 0.04);
  for (int count : below) EXPECT_NEAR(count, kCount / 3, 400);
}

TEST(Rng, BetaNumbersHaveTheRightMomentsAndTails) {
  constexpr int kCount = 30000;
  for (const auto& [a, b] : std::vector<std::pair<double, double>>{{0.2, 0.2}, {0.5, 0.5}, {1, 1}, {0.5, 2}, {5, 3}}) {
    Rng rng(5, Stream::kMix);
    double sum = 0, squares = 0;
    for (int i = 0; i < kCount; ++i) {
      const double x = rng.beta(a, b);
      ASSERT_TRUE(x >= 0 && x <= 1) << x;
      sum += x;
      squares += x * x;
    }
    const double mean = a / (a + b), variance = a * b / ((a + b) * (a + b) * (a + b + 1));
    EXPECT_NEAR(sum / kCount, mean, 0.01) << a << ", " << b;
    EXPECT_NEAR(squares / kCount - mean * mean, variance, 0.01) << a << ", " << b;
  }
  // Beta(1/2, 1/2) lies below x with probability 2 / pi asin(sqrt x); Beta(2, 1) with x^2.
  Rng rng(6, Stream::kMix);
  int arcsine = 0, square = 0;
  for (int i = 0; i < kCount; ++i) {
    arcsine += rng.beta(0.5, 0.5) < 0.1 ? 1 : 0;
    square += rng.beta(2, 1) < 0.3 ? 1 : 0;
  }
  EXPECT_NEAR(arcsine, kCount * 2 / std::numbers::pi * std::asin(std::sqrt(0.1)), 300);
  EXPECT_NEAR(square, kCount * 0.09, 200);
}

TEST(Rng, BetaOfTinyParametersIsStillANumber) {
  Rng rng(5, Stream::kMix);
  int low = 0;
  for (int i = 0; i < 2000; ++i) {
    const double x = rng.beta(0.001, 0.001);
    ASSERT_TRUE(x >= 0 && x <= 1) << x;
    low += x < 0.5 ? 1 : 0;
  }
  EXPECT_NEAR(low, 1000, 120);
}

}  // namespace
}  // namespace tessera
