#include "infer/window.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "core/error.h"

namespace tessera {
namespace {

WindowGrid grid(int64_t height, int64_t width, int size, int stride) {
  WindowConfig config;
  config.size = {size, size};
  config.stride = {stride, stride};
  return window_grid(height, width, config);
}

TEST(Window, GridCoversTheImageAndEndsAtItsBorder) {
  const WindowGrid windows = grid(10, 4, 4, 3);
  ASSERT_EQ(windows.rows.count, 3);
  EXPECT_EQ(windows.columns.count, 1);
  EXPECT_EQ(windows.rows.start(0), 0);
  EXPECT_EQ(windows.rows.start(1), 3);
  EXPECT_EQ(windows.rows.start(2), 6);
  EXPECT_EQ(grid(11, 4, 4, 3).rows.start(3), 7);
}

TEST(Window, StepsByTwoThirdsAndShrinksToTheImage) {
  const WindowGrid windows = grid(512, 683, 512, 0);
  EXPECT_EQ(windows.rows.count, 1);
  ASSERT_EQ(windows.columns.count, 2);
  EXPECT_EQ(windows.columns.start(1), 171);
  EXPECT_EQ(windows.columns.stride, 341);
  EXPECT_EQ(grid(5, 30, 9, 0).rows.size, 5);
  EXPECT_EQ(grid(3, 3, 4, 4).rows.count, 1);
}

TEST(Window, GaussianWeightsAreHighestInTheCentreAndNeverZero) {
  const at::Tensor weights = window_weights(grid(9, 9, 9, 0), WindowWeights::kGaussian);
  EXPECT_FLOAT_EQ(weights[4][4].item<float>(), 1.0F);
  EXPECT_FLOAT_EQ(weights.min().item<float>(), 1e-3F);
  EXPECT_TRUE(window_weights({{2, 2, 1}, {3, 3, 1}}, WindowWeights::kFlat).equal(torch::ones({2, 3})));
}

}  // namespace
}  // namespace tessera
