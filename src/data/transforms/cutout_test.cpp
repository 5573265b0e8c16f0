#include "data/transforms/cutout.h"

#include <gtest/gtest.h>

#include "support/messages.h"
#include "support/samples.h"

namespace tessera {
namespace {

TEST(Cutout, ABoxGetsTheFillAndKeepsItsLabels) {
  const Sample before = testing::numbered_sample({6, 8});
  Sample sample = before;
  cover_box(sample, {.top = 1, .left = 2, .height = 3, .width = 4}, {0.2, 0.4, 0.6}, /*ignore_labels=*/false);
  for (int y = 0; y < 6; ++y) {
    for (int x = 0; x < 8; ++x) {
      const bool covered = y >= 1 && y < 4 && x >= 2 && x < 6;
      EXPECT_EQ(testing::pixel(sample.image, y, x, 1), covered ? 102 : testing::pixel(before.image, y, x, 1));
    }
  }
  EXPECT_EQ(sample.labels->labels, before.labels->labels);
  EXPECT_TRUE(sample.placement.complete);
}

TEST(Cutout, LabelsAreIgnoredWhereAsked) {
  Sample sample = testing::numbered_sample({6, 8});
  cover_box(sample, {.top = 5, .left = 7, .height = 1, .width = 1}, {}, /*ignore_labels=*/true);
  EXPECT_EQ(sample.labels->at(5, 7), kIgnoreLabel);
  EXPECT_NE(sample.labels->at(5, 6), kIgnoreLabel);
}

TEST(Cutout, BoxesHaveTheSizesAndPlacesThatWereAskedFor) {
  size_t smallest = 10'000, largest = 0;
  for (uint64_t n = 0; n < 200; ++n) {
    Sample sample = testing::numbered_sample({40, 60}, 1);
    sample.image.bytes().assign(sample.image.count(), 9);
    Cutout(CutoutConfig{.max_boxes = 1, .min_size = 0.1, .max_size = 0.5, .probability = 1})
        .apply(sample, testing::test_rng(n));
    const auto covered = static_cast<size_t>(std::count(sample.image.bytes().begin(), sample.image.bytes().end(), 0));
    smallest = std::min(smallest, covered);
    largest = std::max(largest, covered);
  }
  EXPECT_GE(smallest, 4U * 6U);
  EXPECT_LT(smallest, 8U * 12U);
  EXPECT_LE(largest, 20U * 30U);
  EXPECT_GT(largest, 16U * 24U);
}

TEST(Cutout, SwappedSizesAreAMistake) {
  EXPECT_CONTAINS(testing::message_of([] { Cutout(CutoutConfig{.min_size = 0.5, .max_size = 0.1}); }),
                  "cutout: min_size is 0.5, larger than max_size 0.1");
}

}  // namespace
}  // namespace tessera
