#include "infer/window_parts.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera {
namespace {

TEST(WindowParts, WindowsAcrossABorderBelongToBothSides) {
  const WindowAxis rows(34, 10, 6);  // windows at 0, 6, 12, 18, 24
  ASSERT_EQ(rows.count, 5);
  const std::vector<WindowPart> parts = deal_windows(rows, 2);
  EXPECT_EQ(parts[0].first, 0);
  EXPECT_EQ(parts[0].end, 3);
  EXPECT_EQ(parts[0].height, 18);  // from there on a fourth window counts
  EXPECT_EQ(parts[1].first, 2);    // pixel 18 is in the window that begins at 12
  EXPECT_EQ(parts[1].end, 5);
  EXPECT_EQ(parts[1].y, 18);
  EXPECT_EQ(parts[1].height, 16);
}

TEST(WindowParts, NobodyComputesWhatDoesNotHelp) {
  const WindowAxis rows(16, 10, 6);  // two rows of windows: whoever has the lower pixels needs both
  EXPECT_EQ(deal_windows(rows, 2)[0].height, 16);
  EXPECT_TRUE(deal_windows(rows, 2)[1].empty());
  const WindowAxis apart(20, 10, 10);
  EXPECT_EQ(deal_windows(apart, 2)[1].height, 10);
  EXPECT_EQ(deal_windows(WindowAxis(500, 512, 341), 3)[0].height, 500);
}

// Every row of pixels once, all of its windows with it, and no rank far above its share.
TEST(WindowParts, AnyImageOnAnyNumberOfRanks) {
  for (int length = 8; length < 60; ++length) {
    for (int stride = 1; stride <= 8; ++stride) {
      const WindowAxis rows(length, 8, stride);
      const int shared = (8 + stride - 1) / stride;  // rows of windows above a border that reach below it, and one
      for (int ranks = 1; ranks <= 7; ++ranks) {
        int64_t y = 0;
        for (const WindowPart& part : deal_windows(rows, ranks)) {
          EXPECT_EQ(part.y, y);
          y += part.height;
          for (auto pixel = static_cast<int>(part.y); pixel < y; ++pixel) {
            EXPECT_LE(part.first, rows.over(pixel).begin);
            EXPECT_GE(part.end, rows.over(pixel).end);
          }
          EXPECT_LE(part.end - part.first, (rows.count + ranks - 1) / ranks + shared)
              << length << " " << stride << " " << ranks;
        }
        EXPECT_EQ(y, length);
      }
    }
  }
}

TEST(WindowParts, GridOfAPartHasItsWindows) {
  const WindowGrid grid{{35, 10, 6}, {20, 10, 5}};  // rows at 0, 6, 12, 18, 24, 25
  for (int first = 0; first < grid.rows.count; ++first) {
    for (int end = first + 1; end <= grid.rows.count; ++end) {
      const WindowAxis rows = grid_of_part(grid, {.first = first, .end = end}).rows;
      ASSERT_EQ(rows.count, end - first);
      for (int row = first; row < end; ++row) {
        EXPECT_EQ(rows.start(row - first), grid.rows.start(row) - grid.rows.start(first));
      }
    }
  }
}

}  // namespace
}  // namespace tessera
