#include "data/datasets/palette.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

namespace tessera {
namespace {

TEST(Palette, BeginsWithBlackAndDoesNotDependOnLength) {
  const auto all = default_palette(256), few = default_palette(5);
  ASSERT_EQ(all.size(), 256U);
  EXPECT_EQ(all[0], (Color{0, 0, 0}));
  EXPECT_TRUE(std::equal(few.begin(), few.end(), all.begin()));
  EXPECT_TRUE(default_palette(0).empty());
}

TEST(Palette, WithoutABackgroundNothingIsBlack) {
  const auto with = default_palette(30), without = default_palette(29, /*has_background=*/false);
  EXPECT_EQ(without, std::vector<Color>(with.begin() + 1, with.end()));
}

TEST(Palette, ColoursDiffer) {
  const auto all = default_palette(1000);
  EXPECT_EQ(std::set<Color>(all.begin(), all.end()).size(), 1000U);
  for (size_t i = 0; i < 21; ++i) {
    for (size_t j = 0; j < i; ++j) {
      int distance = 0;
      for (size_t c = 0; c < 3; ++c) distance += std::abs(all[i][c] - all[j][c]);
      EXPECT_GT(distance, 40) << i << " and " << j;
    }
  }
}

}  // namespace
}  // namespace tessera
