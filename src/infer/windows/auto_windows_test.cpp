#include "infer/windows/auto_windows.h"

#include <gtest/gtest.h>

#include "infer/windows/window_grid.h"

namespace tessera {
namespace {

EvalConfig found(Size crop, int64_t height, int64_t width, EvalConfig eval = {}) {
  return with_windows_for(std::move(eval), crop, at::kCPU, height, width);
}

bool cut(Size crop, int64_t height, int64_t width) {
  return takes_windows(found(crop, height, width).window, height, width);
}

TEST(AutoWindows, OrdinaryImagesStayWhole) {
  EXPECT_FALSE(cut({256, 256}, 1040, 1388));  // the largest of dsb2018
  EXPECT_FALSE(cut({64, 64}, 1040, 1388));
  EXPECT_FALSE(cut({512, 512}, 512, 2048));   // ADE20K
  EXPECT_FALSE(cut({512, 512}, 1024, 2048));  // Cityscapes
  EXPECT_FALSE(cut({256, 256}, 2048, 2048));  // the limit itself
  EXPECT_FALSE(cut({1024, 1024}, 4096, 4096));
}

TEST(AutoWindows, HugeImagesAreCutIntoCrops) {
  const EvalConfig eval = found({256, 320}, 6000, 8000);
  EXPECT_TRUE(takes_windows(eval.window, 6000, 8000));
  EXPECT_EQ(eval.window.size.height, 256);
  EXPECT_EQ(eval.window.size.width, 320);
  EXPECT_FALSE(eval.window.size.automatic);
  EXPECT_EQ(eval.window.batch, 3);  // 512 * 512 / (256 * 320) = 3.2 windows
  EXPECT_TRUE(cut({512, 512}, 2049, 2048));
  EXPECT_TRUE(cut({512, 512}, 300, 40000));
  EXPECT_FALSE(cut({1024, 1024}, 4000, 4000));
  EXPECT_TRUE(cut({1024, 1024}, 4097, 4096));
}

TEST(AutoWindows, WhatIsAskedForStays) {
  EvalConfig eval;
  eval.window.size = Size{0, 0};
  EXPECT_FALSE(takes_windows(found({256, 256}, 6000, 8000, eval).window, 6000, 8000));
  eval.window.size = Size{700, 700};
  EXPECT_EQ(found({256, 256}, 6000, 8000, eval).window.size.height, 700);
  EXPECT_EQ(found({256, 256}, 6000, 8000, eval).window.batch, 16);
}

TEST(AutoWindows, TheLargestScaleAndTheStrideCount) {
  EvalConfig eval;
  eval.scales = {0.5, 2.0};
  EXPECT_TRUE(takes_windows(found({256, 256}, 1100, 1100, eval).window, 1100, 1100));
  eval.scales = {1.0};
  eval.window.stride = {400, 100};
  EXPECT_EQ(found({256, 256}, 6000, 8000, eval).window.stride, (Size{256, 100}));
}

TEST(AutoWindows, ACropIsWhatTransformsEndIn) {
  EXPECT_EQ(training_crop({}), (Size{512, 512}));
  EXPECT_EQ(training_crop({ScaleJitterConfig{}, RandomCropConfig{.size = {192, 256}}, FlipConfig{}}), (Size{192, 256}));
  EXPECT_EQ(training_crop({ResizeConfig{ResizeMode::kPad, {768, 1024}}}), (Size{768, 1024}));
  EXPECT_EQ(training_crop({ResizeConfig{ResizeMode::kShort, {380, 380}}}), (Size{512, 512}));
  EXPECT_EQ(training_crop({ResizeConfig{ResizeMode::kShort, {380, 380}}, RandomCropConfig{.size = {96, 96}},
                           PadConfig{.size = {128, 64}}}),
            (Size{128, 96}));
}

}  // namespace
}  // namespace tessera
