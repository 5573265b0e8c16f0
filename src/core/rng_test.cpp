#include "core/rng.h"

#include <gtest/gtest.h>

#include <set>

namespace tessera {
namespace {

// The known-answer vectors of the Random123 distribution.
TEST(Philox, MatchesPublishedVectors) {
  EXPECT_EQ(philox({0, 0}, {0, 0, 0, 0}), (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
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

}  // namespace
}  // namespace tessera
