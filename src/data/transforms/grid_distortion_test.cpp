#include "data/transforms/grid_distortion.h"

#include <gtest/gtest.h>

#include "support/samples.h"

namespace tessera {
namespace {

TEST(GridDistortion, CellsAreFilledFromStretchesOfOtherWidths) {
  // Two cells: the first takes three quarters of the source, so it moves 3 pixels a step of 2, the second 1.
  EXPECT_EQ(distorted_axis(9, {3, 1}), (std::vector<double>{0, 1.5, 3, 4.5, 6, 6.5, 7, 7.5, 8}));
  EXPECT_EQ(distorted_axis(5, {1, 1}), (std::vector<double>{0, 1, 2, 3, 4}));
  EXPECT_EQ(distorted_axis(1, {1, 2, 3}), (std::vector<double>{0}));
}

TEST(GridDistortion, NothingComesFromOutside) {
  for (uint64_t n = 0; n < 20; ++n) {
    Sample sample = testing::numbered_sample({33, 47});
    GridDistortion(GridDistortionConfig{.limit = 0.95, .probability = 1}).apply(sample, testing::test_rng(n));
    for (const int16_t label : sample.labels->labels) ASSERT_NE(label, kIgnoreLabel);
    EXPECT_EQ(testing::pixel(sample.image, 0, 0), 0);
    EXPECT_NE(sample.image.bytes(), testing::numbered_sample({33, 47}).image.bytes());
  }
}

TEST(GridDistortion, WithoutALimitNothingMoves) {
  Sample sample = testing::numbered_sample({33, 47});
  GridDistortion(GridDistortionConfig{.limit = 0, .probability = 1}).apply(sample, testing::test_rng());
  EXPECT_EQ(sample.image.bytes(), testing::numbered_sample({33, 47}).image.bytes());
}

}  // namespace
}  // namespace tessera
