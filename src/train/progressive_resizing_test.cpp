#include "train/progressive_resizing.h"

#include <gtest/gtest.h>
#include <torch/types.h>

namespace tessera {
namespace {

ProgressiveResizingConfig half_first() {
  ProgressiveResizingConfig config;
  config.initial_scale = 0.5;
  return config;
}

// 100 steps: half until step 50, whole from step 80 on; in between (step - 50) / 30 of the rest is there, rounded to multiples
// of 4.
TEST(ProgressiveResizing, SizesGrowFromTheDelayToTheFinalPart) {
  const auto size = [](int64_t step) {
    const Shrink shrink = shrink_at(half_first(), {step, 100, 10}, 1, 64, 48, 1);
    return std::pair(shrink.height, shrink.width);
  };
  for (const int64_t step : {0, 49, 50}) EXPECT_EQ(size(step), std::pair(int64_t{32}, int64_t{24})) << step;
  EXPECT_EQ(size(52), std::pair(int64_t{36}, int64_t{24}));  // 34.1 and 25.6: 8.53 and 6.4 times 4
  EXPECT_EQ(size(65), std::pair(int64_t{48}, int64_t{36}));
  for (const int64_t step : {80, 99}) EXPECT_EQ(size(step), std::pair(int64_t{64}, int64_t{48})) << step;
}

TEST(ProgressiveResizing, NoSideGetsSmallerThanTheModelTakesOrLargerThanItIs) {
  ProgressiveResizingConfig config = half_first();
  config.size_increment = 32;
  EXPECT_EQ(shrink_at(config, {0, 100, 10}, 1, 20, 90, 16).height, 16);
  EXPECT_EQ(shrink_at(config, {0, 100, 10}, 1, 20, 90, 16).width, 32);   // 45 is 1.4 times 32
  EXPECT_EQ(shrink_at(config, {79, 100, 10}, 1, 20, 90, 16).width, 90);  // 88.5 would be 96
  config.delay_fraction = 0.8;
  EXPECT_EQ(shrink_at(config, {79, 100, 10}, 1, 64, 64, 1).height, 32) << "no time to grow";
  EXPECT_EQ(shrink_at(config, {80, 100, 10}, 1, 64, 64, 1).height, 64);
}

Batch batch_of(int64_t height, int64_t width) {
  Batch batch;
  batch.images = at::arange(2 * height * width * 3, at::kLong).remainder(251).view({2, height, width, 3}).to(at::kByte);
  batch.labels = at::arange(2 * height * width, at::kLong).remainder(7).view({2, height, width}).to(at::kShort);
  batch.indices = {0, 1};
  return batch;
}

TEST(ProgressiveResizing, CropsImagesAndLabelsAlikeWhereSeedAndStepSay) {
  ProgressiveResizingConfig config = half_first();
  config.mode = ShrinkMode::kCrop;
  const Batch whole = batch_of(16, 24);
  bool moves = false;
  for (int64_t step = 0; step < 8; ++step) {
    const Shrink shrink = shrink_at(config, {step, 100, 10}, 5, 16, 24, 1);
    const Shrink again = shrink_at(config, {step, 100, 10}, 5, 16, 24, 1);
    EXPECT_EQ(std::tie(shrink.top, shrink.left), std::tie(again.top, again.left));
    moves = moves || shrink.top != shrink_at(config, {0, 100, 10}, 5, 16, 24, 1).top;
    const Batch part = shrunk(whole, shrink, at::kCPU);
    EXPECT_TRUE(part.images.equal(whole.images.slice(1, shrink.top, shrink.top + 8).slice(2, shrink.left, shrink.left + 12)));
    EXPECT_TRUE(part.labels.equal(whole.labels.slice(1, shrink.top, shrink.top + 8).slice(2, shrink.left, shrink.left + 12)));
  }
  EXPECT_TRUE(moves);
}

// 4 x 4 to 2 x 2: a filter of torch's triangle weighs the pixels of a row 1, 3, 3, 1 where it has all four; at the edge the
// first is missing: 3 / 7, 3 / 7, 1 / 7. Row 0 of one channel is 0, 70, 140, 210: 70 * (3 + 2) / 7 = 50 and 140 * 3 + 210 * 3 +
// 70 = 1120 / 7 = 160.
TEST(ProgressiveResizing, ImagesAreFilteredAndLabelsAreThoseOfTheNearestPixel) {
  Batch batch;
  batch.images = at::tensor({0, 70, 140, 210}, at::kByte).view({1, 1, 4, 1}).expand({1, 4, 4, 1}).contiguous();
  batch.labels = at::arange(16, at::kLong).view({1, 4, 4}).to(at::kShort);
  batch.indices = {0};
  const Batch half = shrunk(batch, {.mode = ShrinkMode::kResize, .height = 2, .width = 2}, at::kCPU);
  EXPECT_TRUE(half.images.view({2, 2}).equal(at::tensor({50, 160, 50, 160}, at::kByte).view({2, 2}))) << half.images;
  EXPECT_TRUE(half.labels.view({4}).equal(at::tensor({5, 7, 13, 15}, at::kShort))) << half.labels;
}

TEST(ProgressiveResizing, WholeBatchesAreLeftAsTheyAre) {
  const Batch whole = batch_of(8, 8);
  const Batch same = shrunk(whole, shrink_at(half_first(), {99, 100, 10}, 1, 8, 8, 1), at::kCPU);
  EXPECT_TRUE(same.images.is_same(whole.images));
  EXPECT_TRUE(same.labels.is_same(whole.labels));
}

}  // namespace
}  // namespace tessera
