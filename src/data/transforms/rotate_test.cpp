#include "data/transforms/rotate.h"

#include <gtest/gtest.h>

#include "support/samples.h"

namespace tessera {
namespace {

using testing::numbered_sample;
using testing::pixel;

TEST(Rotate, QuarterTurnsAreExact) {
  const Sample before = numbered_sample({3, 5});
  Sample sample = before;
  turn_quarters(sample, 1);  // counter-clockwise: the right edge becomes the top
  EXPECT_EQ(sample.image.size(), (Size{5, 3}));
  EXPECT_EQ(pixel(sample.image, 0, 0), pixel(before.image, 0, 4));
  EXPECT_EQ(pixel(sample.image, 4, 2), pixel(before.image, 2, 0));
  EXPECT_EQ(sample.labels->at(0, 2), before.labels->at(2, 4));
  EXPECT_FALSE(sample.placement.complete);
  turn_quarters(sample, 3);
  EXPECT_EQ(sample.image.bytes(), before.image.bytes());
  turn_quarters(sample, 2);
  turn_quarters(sample, 2);
  EXPECT_EQ(sample.image.bytes(), before.image.bytes());
  EXPECT_EQ(sample.labels->labels, before.labels->labels);
}

TEST(Rotate, NinetyDegreesOfASquareIsAQuarterTurn) {
  for (bool floats : {false, true}) {
    Sample turned = numbered_sample({7, 7}, 3, floats), rotated = turned;
    turn_quarters(turned, 1);
    rotate_sample(rotated, 90);
    for (int y = 0; y < 7; ++y) {
      for (int x = 0; x < 7; ++x) {
        EXPECT_NEAR(pixel(rotated.image, y, x, 1), pixel(turned.image, y, x, 1), 1e-6);
        EXPECT_EQ(rotated.labels->at(y, x), turned.labels->at(y, x));
      }
    }
  }
}

TEST(Rotate, CornersAreFilledAndIgnored) {
  Sample sample = numbered_sample({21, 21});
  rotate_sample(sample, 45);
  EXPECT_EQ(pixel(sample.image, 0, 0), 0);
  EXPECT_EQ(sample.labels->at(0, 0), kIgnoreLabel);
  EXPECT_EQ(sample.labels->at(20, 20), kIgnoreLabel);
  EXPECT_EQ(sample.labels->at(10, 10), numbered_sample({21, 21}).labels->at(10, 10));
  EXPECT_FALSE(sample.placement.complete);
}

TEST(Rotate, CornersGetTheFill) {
  Sample sample = numbered_sample({21, 21});
  rotate_sample(sample, 45, {0.2, 0.4, 0.6});
  EXPECT_EQ(pixel(sample.image, 0, 0, 0), 51);
  EXPECT_EQ(pixel(sample.image, 20, 20, 1), 102);
  EXPECT_EQ(pixel(sample.image, 0, 20, 2), 153);
  EXPECT_EQ(pixel(sample.image, 10, 10), pixel(numbered_sample({21, 21}).image, 10, 10));
}

TEST(Rotate, ZeroDegreesChangesNothing) {
  Sample sample = numbered_sample({6, 9});
  rotate_sample(sample, 0);
  EXPECT_EQ(sample.image.bytes(), numbered_sample({6, 9}).image.bytes());
  EXPECT_EQ(sample.labels->labels, numbered_sample({6, 9}).labels->labels);
}

TEST(Rotate, ProbabilityZeroIsNever) {
  for (uint64_t n = 0; n < 50; ++n) {
    Sample sample = numbered_sample({4, 4});
    Rotate(RotateConfig{90, 0.0, false}).apply(sample, testing::test_rng(n));
    EXPECT_TRUE(sample.placement.complete);
  }
}

}  // namespace
}  // namespace tessera
