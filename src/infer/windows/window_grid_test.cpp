#include "infer/windows/window_grid.h"

#include <gtest/gtest.h>
#include <torch/types.h>

namespace tessera {
namespace {

WindowGrid grid(int64_t height, int64_t width, int size, int stride) {
  WindowConfig config;
  config.size = Size{size, size};
  config.stride = {stride, stride};
  return window_grid(height, width, config);
}

TEST(WindowGrid, GridCoversTheImageAndEndsAtItsBorder) {
  const WindowGrid windows = grid(10, 4, 4, 3);
  ASSERT_EQ(windows.rows.count, 3);
  EXPECT_EQ(windows.columns.count, 1);
  EXPECT_EQ(windows.rows.start(0), 0);
  EXPECT_EQ(windows.rows.start(1), 3);
  EXPECT_EQ(windows.rows.start(2), 6);
  EXPECT_EQ(grid(11, 4, 4, 3).rows.start(3), 7);
}

TEST(WindowGrid, StepsByTwoThirdsAndShrinksToTheImage) {
  const WindowGrid windows = grid(512, 683, 512, 0);
  EXPECT_EQ(windows.rows.count, 1);
  ASSERT_EQ(windows.columns.count, 2);
  EXPECT_EQ(windows.columns.start(1), 171);
  EXPECT_EQ(windows.columns.stride, 341);
  EXPECT_EQ(grid(5, 30, 9, 0).rows.size, 5);
  EXPECT_EQ(grid(3, 3, 4, 4).rows.count, 1);
}

TEST(WindowGrid, GaussianWeightsAreHighestInTheCentreAndNeverZero) {
  const at::Tensor weights = window_weights(grid(9, 9, 9, 0), WindowWeights::kGaussian);
  EXPECT_FLOAT_EQ(weights[4][4].item<float>(), 1.0F);
  EXPECT_FLOAT_EQ(weights.min().item<float>(), 1e-3F);
  EXPECT_TRUE(window_weights({{2, 2, 1}, {3, 3, 1}}, WindowWeights::kFlat).equal(torch::ones({2, 3})));
}

TEST(WindowPart, WindowsAcrossABorderBelongToBothSides) {
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

TEST(WindowPart, NobodyComputesWhatDoesNotHelp) {
  const WindowAxis rows(16, 10, 6);  // two rows of windows: whoever has the lower pixels needs both
  EXPECT_EQ(deal_windows(rows, 2)[0].height, 16);
  EXPECT_TRUE(deal_windows(rows, 2)[1].empty());
  const WindowAxis apart(20, 10, 10);
  EXPECT_EQ(deal_windows(apart, 2)[1].height, 10);
  EXPECT_EQ(deal_windows(WindowAxis(500, 512, 341), 3)[0].height, 500);
}

// Every row of pixels once, all of its windows with it, and no rank far above its share.
TEST(WindowPart, AnyImageOnAnyNumberOfRanks) {
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

TEST(WindowPart, GridOfAPartHasItsWindows) {
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
