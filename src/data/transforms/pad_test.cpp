#include "data/transforms/pad.h"

#include <gtest/gtest.h>

#include "support/samples.h"

namespace tessera {
namespace {

Sample padded(Size from, Size to, bool centre) {
  Sample sample = testing::numbered_sample(from);
  Pad(PadConfig{to, centre}).apply(sample, testing::test_rng());
  return sample;
}

TEST(Pad, GrowsRightAndBottom) {
  const Sample sample = padded({3, 4}, {5, 8}, false);
  EXPECT_EQ(sample.image.size(), (Size{5, 8}));
  EXPECT_EQ(testing::pixel(sample.image, 2, 3), 2 * 16 + 3 * 3);
  EXPECT_EQ(sample.labels->at(2, 4), kIgnoreLabel);
  EXPECT_EQ(sample.placement.y, 0);
  EXPECT_TRUE(sample.placement.complete);
}

TEST(Pad, CentresIfAsked) {
  const Sample sample = padded({3, 4}, {6, 8}, true);
  EXPECT_EQ(sample.placement.y, 1);
  EXPECT_EQ(sample.placement.x, 2);
  EXPECT_EQ(testing::pixel(sample.image, 1, 2, 2), 2);
}

TEST(Pad, LargerSidesStay) {
  EXPECT_EQ(padded({9, 4}, {6, 8}, true).image.size(), (Size{9, 8}));
  EXPECT_EQ(padded({9, 9}, {6, 8}, true).image.size(), (Size{9, 9}));
}

}  // namespace
}  // namespace tessera
