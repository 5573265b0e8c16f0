#include "data/transforms/window.h"

#include <gtest/gtest.h>

#include "support/samples.h"

namespace tessera {
namespace {

using testing::numbered_sample;
using testing::pixel;

TEST(Window, CutsInsideAndFillsOutside) {
  for (bool floats : {false, true}) {
    Sample sample = numbered_sample({4, 5}, 3, floats);
    const Sample before = sample;
    take_window(sample, -1, 2, {3, 4});
    ASSERT_EQ(sample.image.size(), (Size{3, 4}));
    EXPECT_EQ(pixel(sample.image, 0, 0), 0);
    EXPECT_EQ(sample.labels->at(0, 0), kIgnoreLabel);
    EXPECT_EQ(pixel(sample.image, 1, 0, 2), pixel(before.image, 0, 2, 2));
    EXPECT_EQ(pixel(sample.image, 2, 2, 1), pixel(before.image, 1, 4, 1));
    EXPECT_EQ(sample.labels->at(2, 2), before.labels->at(1, 4));
    EXPECT_EQ(pixel(sample.image, 2, 3), 0);
    EXPECT_EQ(sample.labels->at(2, 3), kIgnoreLabel);
    EXPECT_EQ(sample.placement.y, 1);
    EXPECT_EQ(sample.placement.x, -2);
    EXPECT_FALSE(sample.placement.complete);
  }
}

TEST(Window, FillIsAShareOfTheRangePerChannel) {
  const Fill mean{0.485, 0.456, 0.406};
  Sample bytes = numbered_sample({4, 5});
  take_window(bytes, -1, 0, {5, 5}, mean);
  EXPECT_EQ(pixel(bytes.image, 0, 3, 0), 124);  // 123.675
  EXPECT_EQ(pixel(bytes.image, 0, 3, 1), 116);  // 116.28
  EXPECT_EQ(pixel(bytes.image, 0, 3, 2), 104);  // 103.53
  EXPECT_EQ(pixel(bytes.image, 1, 3, 2), pixel(numbered_sample({4, 5}).image, 0, 3, 2));
  Sample floats = numbered_sample({4, 5}, 2, true);
  take_window(floats, 0, 0, {4, 6}, {0.5});
  EXPECT_EQ(pixel(floats.image, 3, 5, 1), 32767.5);
  EXPECT_THROW(take_window(floats, 0, 0, {9, 9}, mean), Error);
}

TEST(Window, PaddingKeepsThePlacementComplete) {
  Sample sample = numbered_sample({4, 5}, 1);
  take_window(sample, -2, -1, {8, 8});
  EXPECT_TRUE(sample.placement.complete);
  EXPECT_EQ(sample.placement.y, 2);
  EXPECT_EQ(sample.placement.x, 1);
  EXPECT_EQ(sample.placement.height, 4);
  take_window(sample, 2, 1, {4, 5});  // only what was padded goes
  EXPECT_TRUE(sample.placement.complete);
  EXPECT_EQ(sample.image.bytes(), numbered_sample({4, 5}, 1).image.bytes());
}

TEST(Window, FarOutsideIsAllFill) {
  Sample sample = numbered_sample({4, 5}, 4);
  take_window(sample, 100, -100, {2, 2});
  EXPECT_EQ(sample.image.bytes(), std::vector<uint8_t>(16, 0));
}

TEST(Window, ScalingMovesThePlacement) {
  Sample sample = numbered_sample({4, 6}, 3);
  take_window(sample, -2, 0, {8, 6});
  scale_sample(sample, {16, 3});
  EXPECT_EQ(sample.image.size(), (Size{16, 3}));
  EXPECT_EQ(sample.labels->size(), (Size{16, 3}));
  EXPECT_DOUBLE_EQ(sample.placement.y, 4);
  EXPECT_DOUBLE_EQ(sample.placement.height, 8);
  EXPECT_DOUBLE_EQ(sample.placement.width, 3);
  EXPECT_EQ(sample.placement.original, (Size{4, 6}));
}

TEST(Window, WorksWithoutLabels) {
  Sample sample = numbered_sample({4, 5});
  sample.labels.reset();
  take_window(sample, 1, 1, {2, 2});
  scale_sample(sample, {3, 3});
  EXPECT_FALSE(sample.labels.has_value());
}

}  // namespace
}  // namespace tessera
