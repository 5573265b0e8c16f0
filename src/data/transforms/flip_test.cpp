#include "data/transforms/flip.h"

#include <gtest/gtest.h>

#include "data/transforms/window.h"
#include "support/samples.h"

namespace tessera {
namespace {

using testing::numbered_sample;
using testing::pixel;

TEST(Flip, MirrorsPixelsLabelsAndPlacement) {
  for (bool floats : {false, true}) {
    const Sample before = numbered_sample({3, 5}, 3, floats);
    Sample sample = before;
    take_window(sample, 0, -2, {3, 9});  // content at x = 2..6 of 0..8
    flip_horizontal(sample);
    EXPECT_EQ(pixel(sample.image, 1, 6, 2), pixel(before.image, 1, 0, 2));
    EXPECT_EQ(sample.labels->at(2, 2), before.labels->at(2, 4));
    EXPECT_EQ(sample.placement.x, 2);
    EXPECT_TRUE(sample.placement.flipped);
    EXPECT_TRUE(sample.placement.complete);
    flip_horizontal(sample);
    EXPECT_FALSE(sample.placement.flipped);
    flip_vertical(sample);
    EXPECT_EQ(pixel(sample.image, 2, 2, 0), pixel(before.image, 0, 0, 0));
    EXPECT_FALSE(sample.placement.complete);
  }
}

TEST(Flip, HappensAsOftenAsAsked) {
  int flipped = 0;
  for (uint64_t n = 0; n < 1000; ++n) {
    Sample sample = numbered_sample({2, 2});
    Flip(FlipConfig{0.3, 0.0}).apply(sample, testing::test_rng(n));
    flipped += sample.placement.flipped ? 1 : 0;
  }
  EXPECT_NEAR(flipped, 300, 60);
}

}  // namespace
}  // namespace tessera
