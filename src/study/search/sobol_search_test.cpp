#include "study/search/sobol_search.h"

#include <gtest/gtest.h>

#include <set>

#include "study/search/sobol.h"

namespace tessera {
namespace {

TEST(Sobol, IsTheSequenceOfJoeAndKuo) {
  // scipy.stats.qmc.Sobol(5, scramble=False).random(6), without point 0.
  const double expected[5][5] = {{0.5, 0.5, 0.5, 0.5, 0.5},
                                 {0.75, 0.25, 0.25, 0.25, 0.75},
                                 {0.25, 0.75, 0.75, 0.75, 0.25},
                                 {0.375, 0.375, 0.625, 0.875, 0.375},
                                 {0.875, 0.875, 0.125, 0.375, 0.875}};
  for (uint32_t i = 0; i < 5; ++i) {
    for (int d = 0; d < 5; ++d) EXPECT_EQ(sobol_bits(i + 1, d) * 0x1p-32, expected[i][d]) << i << " " << d;
  }
}

// In each of any 2^k intervals of one dimension lies one of the first 2^k points; this is what scrambling has to keep.
TEST(Sobol, EveryDimensionIsStratified) {
  for (int d = 0; d < kMaxSobolDimensions; ++d) {
    std::set<uint32_t> plain, scrambled;
    for (uint32_t i = 0; i < 256; ++i) {
      plain.insert(sobol_bits(i, d) >> 24);
      scrambled.insert(owen_scramble(sobol_bits(i, d), 7, d) >> 24);
    }
    EXPECT_EQ(plain.size(), 256u) << d;
    EXPECT_EQ(scrambled.size(), 256u) << d;
  }
}

// The first two dimensions are a (0, m, 2)-net: any 16 boxes of equal volume hold one of 16 points each.
TEST(Sobol, ScrambledPairsStayANet) {
  for (int bits = 0; bits <= 4; ++bits) {
    std::set<uint32_t> boxes;
    for (uint32_t i = 0; i < 16; ++i) {
      const uint64_t x = owen_scramble(sobol_bits(i, 0), 3, 0), y = owen_scramble(sobol_bits(i, 1), 3, 1);
      boxes.insert(static_cast<uint32_t>(((x << bits >> 32) << (4 - bits)) | (y << (4 - bits) >> 32)));
    }
    EXPECT_EQ(boxes.size(), 16u) << bits;
  }
}

TEST(SobolSearch, SeedsGiveOtherPoints) {
  const Space space({{.name = "x"}, {.name = "y"}});
  SobolSearch one(space, 1), two(space, 2), again(space, 1);
  for (int64_t i = 0; i < 8; ++i) {
    EXPECT_NE(*one.suggest(i), *two.suggest(i));
    EXPECT_EQ(*one.suggest(i), *again.suggest(i));
  }
}

}  // namespace
}  // namespace tessera
