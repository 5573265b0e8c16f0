#include "kernels/pixels/normalize_pixels.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "support/derivative.h"
#include "support/pixel_images.h"

namespace tessera {
namespace {

using testing::channel_numbers;
using testing::images_of;
using testing::largest_difference;
using testing::normalized;

const std::vector<std::vector<int64_t>> kSizes = {{2, 5, 7, 3}, {1, 1, 1, 1},  {3, 4, 9, 1},
                                                  {1, 6, 5, 4}, {2, 3, 3, 13}, {1, 33, 31, 3}};

TEST(NormalizePixels, EqualsPlainOpsInChannelsLast) {
  for (const auto& sizes : kSizes) {
    for (const at::ScalarType from : {at::kByte, at::kFloat, at::kDouble}) {
      const at::Tensor images = images_of(sizes, from);
      const auto mean = channel_numbers(sizes[3], 0.4), std = channel_numbers(sizes[3], 0.2);
      const at::Tensor expected = normalized(images, 255, mean, std).permute({0, 3, 1, 2});  // within 3 in size
      const auto result = [&](at::ScalarType type) { return normalize_pixels(images, 255, mean, std, type); };
      EXPECT_TRUE(result(at::kFloat).is_contiguous(at::MemoryFormat::ChannelsLast));
      EXPECT_LT(largest_difference(result(at::kDouble), expected), 1e-14);
      EXPECT_LT(largest_difference(result(at::kFloat), expected), 1e-6);
      EXPECT_LT(largest_difference(result(at::kBFloat16), expected), 3.0 / 256);
      EXPECT_LT(largest_difference(result(at::kHalf), expected), 3.0 / 2048);
      EXPECT_TRUE(result(at::kBFloat16).equal(result(at::kFloat).to(at::kBFloat16)));
    }
  }
}

TEST(NormalizePixels, SampleThatBeginsWithinAVector) {
  const at::Tensor images = images_of({3, 5, 5, 3}, at::kByte);
  const auto mean = channel_numbers(3, 0.4), std = channel_numbers(3, 0.2);
  const at::Tensor all = normalize_pixels(images, 255, mean, std, at::kBFloat16);
  EXPECT_TRUE(normalize_pixels(images.narrow(0, 1, 2), 255, mean, std, at::kBFloat16).equal(all.narrow(0, 1, 2)));
}

TEST(NormalizePixels, OneNumberServesAllChannels) {
  const at::Tensor images = images_of({1, 4, 4, 5}, at::kByte);
  EXPECT_TRUE(normalize_pixels(images, 255, {0.5}, {0.3}, at::kFloat)
                  .equal(normalize_pixels(images, 255, std::vector<double>(5, 0.5), std::vector<double>(5, 0.3), at::kFloat)));
  EXPECT_THROW(normalize_pixels(images, 255, {0.5, 0.5}, {0.3}, at::kFloat), Error);
}

TEST(NormalizePixels, SaysWhatItCannotTake) {
  EXPECT_FALSE(can_normalize_pixels(at::zeros({1, 2, 2, 65}, at::kByte)));
  EXPECT_FALSE(can_normalize_pixels(at::zeros({1, 2, 2, 3}, at::kShort)));
  EXPECT_TRUE(can_normalize_pixels(at::zeros({1, 2, 2, 64}, at::kByte)));
}

}  // namespace
}  // namespace tessera
