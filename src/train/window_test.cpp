#include "train/window.h"

#include <gtest/gtest.h>
#include <torch/types.h>

namespace tessera {
namespace {

TEST(Window, CornersCoverTheImageAndEndAtItsBorder) {
  const auto corners = window_corners({10, 4}, {4, 4}, {3, 3});
  ASSERT_EQ(corners.size(), 3U);
  EXPECT_EQ(corners[0].y, 0);
  EXPECT_EQ(corners[1].y, 3);
  EXPECT_EQ(corners[2].y, 6);
  EXPECT_EQ(window_corners({11, 4}, {4, 4}, {3, 3}).back().y, 7);
}

TEST(Window, GaussianWeightsAreHighestInTheCentreAndNeverZero) {
  const at::Tensor weights = window_weights({9, 9}, WindowWeights::kGaussian)[0][0];
  EXPECT_FLOAT_EQ(weights[4][4].item<float>(), 1.0F);
  EXPECT_FLOAT_EQ(weights.min().item<float>(), 1e-3F);
  EXPECT_TRUE(window_weights({2, 3}, WindowWeights::kFlat).equal(torch::ones({1, 1, 2, 3})));
}

}  // namespace
}  // namespace tessera
