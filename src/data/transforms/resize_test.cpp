#include "data/transforms/resize.h"

#include <gtest/gtest.h>

#include "support/samples.h"

namespace tessera {
namespace {

Sample resized(Size from, ResizeMode mode, Size to) {
  Sample sample = testing::numbered_sample(from);
  ResizeConfig config;
  config.mode = mode;
  config.size = to;
  Resize(config).apply(sample, testing::test_rng());
  return sample;
}

TEST(Resize, EachModeGivesItsSize) {
  EXPECT_EQ(resized({30, 60}, ResizeMode::kExact, {20, 20}).image.size(), (Size{20, 20}));
  EXPECT_EQ(resized({30, 60}, ResizeMode::kShort, {20, 20}).image.size(), (Size{20, 40}));
  EXPECT_EQ(resized({30, 60}, ResizeMode::kLong, {20, 20}).image.size(), (Size{10, 20}));
  EXPECT_EQ(resized({30, 60}, ResizeMode::kPad, {20, 20}).image.size(), (Size{20, 20}));
  EXPECT_EQ(resized({30, 60}, ResizeMode::kCropOrPad, {40, 20}).image.size(), (Size{40, 20}));
  EXPECT_EQ(resized({1, 300}, ResizeMode::kLong, {20, 20}).image.size(), (Size{1, 20}));
}

TEST(Resize, PadCentresAndIgnoresTheRest) {
  const Sample sample = resized({30, 60}, ResizeMode::kPad, {20, 20});
  EXPECT_EQ(sample.labels->at(4, 0), kIgnoreLabel);
  EXPECT_NE(sample.labels->at(5, 0), kIgnoreLabel);
  EXPECT_NE(sample.labels->at(14, 0), kIgnoreLabel);
  EXPECT_EQ(sample.labels->at(15, 0), kIgnoreLabel);
  EXPECT_DOUBLE_EQ(sample.placement.y, 5);
  EXPECT_DOUBLE_EQ(sample.placement.height, 10);
  EXPECT_TRUE(sample.placement.complete);
}

TEST(Resize, CropOrPadLosesWhatItCrops) {
  const Sample sample = resized({30, 60}, ResizeMode::kCropOrPad, {40, 20});
  EXPECT_DOUBLE_EQ(sample.placement.y, 5);
  EXPECT_DOUBLE_EQ(sample.placement.x, -20);
  EXPECT_FALSE(sample.placement.complete);
  EXPECT_TRUE(resized({30, 60}, ResizeMode::kCropOrPad, {40, 60}).placement.complete);
}

}  // namespace
}  // namespace tessera
