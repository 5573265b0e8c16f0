#include "data/transforms/rescale.h"

#include <gtest/gtest.h>

#include "config/experiment.h"
#include "core/error.h"
#include "data/transforms/make_pipeline.h"
#include "support/samples.h"

namespace tessera {
namespace {

using testing::numbered_sample;
using testing::pixel;
using testing::test_rng;

TEST(Rescale, TakesARangeToZeroAndOneAndClipsNothing) {
  Sample sample = numbered_sample({2, 3}, 1, /*floats=*/true);  // 0, 300, 600; 1600, 1900, 2200
  Rescale({300}, {1900}).apply(sample, test_rng());
  EXPECT_EQ(sample.image.max_value, 1);
  EXPECT_DOUBLE_EQ(pixel(sample.image, 0, 1), 0);
  EXPECT_DOUBLE_EQ(pixel(sample.image, 1, 1), 1);
  EXPECT_DOUBLE_EQ(pixel(sample.image, 0, 0), -0.1875);  // -300 / 1600
  EXPECT_DOUBLE_EQ(pixel(sample.image, 1, 2), 1.1875);
}

TEST(Rescale, ChannelsHaveRangesOfTheirOwnAndBytesBecomeFloats) {
  Sample sample = numbered_sample({1, 2}, 2);  // (0, 1), (3, 4)
  Rescale({0, 1}, {6, 5}).apply(sample, test_rng());
  EXPECT_EQ(sample.image.floats(), (std::vector<float>{0, 0, 0.5F, 0.75F}));
  EXPECT_THROW(Rescale({0, 1, 2}, {6}).apply(sample, test_rng()), Error);
}

// What padding adds is what normalisation turns into 0, and brightness is a share of the range.
TEST(Rescale, ComesBeforeTheTransformsOfTheConfig) {
  DataConfig config;
  config.normalize = {.mode = NormalizeMode::kRange, .mean = {0.25}, .std = {0.5}, .low_value = {100}, .high_value = {900}};
  config.val.transforms = {PadConfig{.size = {4, 4}}};
  Sample sample = numbered_sample({2, 2}, 1, true);
  run_pipeline(make_pipeline(config, Split::kVal), sample, 0, 0, 0);
  EXPECT_DOUBLE_EQ(pixel(sample.image, 3, 3), 0.25);
  EXPECT_DOUBLE_EQ(pixel(sample.image, 0, 1), 0.25);  // 300 of 100..900
}

}  // namespace
}  // namespace tessera
