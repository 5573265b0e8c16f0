#include "data/batch/normalize.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "core/error.h"

namespace tessera {
namespace {

TEST(NormalizeImages, FixedIsMeanAndStdOfScaledPixelsInChannelsLast) {
  const NormalizeConfig config{.mean = {0.5, 0.25}, .std = {0.5, 0.25}, .low_value = {}, .high_value = {}};
  const at::Tensor images = torch::tensor({0, 255, 255, 0, 51, 102}, torch::kUInt8).view({1, 1, 3, 2});
  const at::Tensor x = normalize_images(images, 255, config, at::kDouble);
  ASSERT_EQ(x.sizes(), (std::vector<int64_t>{1, 2, 1, 3}));
  EXPECT_TRUE(x.is_contiguous(at::MemoryFormat::ChannelsLast));
  const at::Tensor expected = torch::tensor({-1.0, 1.0, -0.6, 3.0, -1.0, 0.6}, torch::kDouble).view({1, 2, 1, 3});
  EXPECT_TRUE(torch::allclose(x, expected, 1e-12, 1e-12));
}

// Mode auto that nobody decided about, and mode range, whose images come scaled, are fixed to the bit.
TEST(NormalizeImages, AutoAndRangeAreFixed) {
  const at::Tensor images = torch::randint(0, 256, {1, 5, 7, 3}, torch::kUInt8);
  NormalizeConfig config{.mode = NormalizeMode::kFixed, .low_value = {}, .high_value = {}};
  const at::Tensor fixed = normalize_images(images, 255, config, at::kFloat), scaled = images.to(at::kFloat) / 255;
  const at::Tensor of_floats = normalize_images(scaled, 1, config, at::kFloat);
  config.mode = NormalizeMode::kAuto;
  EXPECT_TRUE(normalize_images(images, 255, config, at::kFloat).equal(fixed));
  config.mode = NormalizeMode::kRange;
  EXPECT_TRUE(normalize_images(scaled, 1, config, at::kFloat).equal(of_floats));
  EXPECT_THROW(normalize_images(images, 255, config, at::kFloat), Error);  // past make_pipeline
}

TEST(NormalizeImages, PerImageDoesNotLookAtTheOthers) {
  const NormalizeConfig config{.mode = NormalizeMode::kPerImage, .low_value = {}, .high_value = {}};
  const at::Tensor images = torch::rand({2, 8, 8, 1}) * 65535;
  const at::Tensor both = normalize_images(images, 65535, config, at::kFloat);
  EXPECT_TRUE(both[1].equal(normalize_images(images.slice(0, 1, 2), 65535, config, at::kFloat)[0]));
  EXPECT_NEAR(both[0].mean().item<double>(), 0, 1e-5);
  EXPECT_NEAR(both[0].std().item<double>(), 1, 1e-5);
  EXPECT_TRUE(normalize_images(torch::zeros({1, 4, 4, 1}), 255, config, at::kFloat).isfinite().all().item<bool>());
}

TEST(NormalizeImages, PercentilesIgnoreOutliers) {
  const NormalizeConfig config{
      .mode = NormalizeMode::kPercentile, .mean = {0}, .std = {1}, .low = 0.1, .high = 0.9, .low_value = {}, .high_value = {}};
  at::Tensor images = torch::arange(11, torch::kFloat).view({1, 1, 11, 1}).clone();
  images.index_put_({0, 0, 10, 0}, 1e6);
  const at::Tensor x = normalize_images(images, 65535, config, at::kFloat).flatten();
  EXPECT_FLOAT_EQ(x[0].item<float>(), 0);
  EXPECT_FLOAT_EQ(x[5].item<float>(), 0.5);  // 1 becomes 0, 9 becomes 1
  EXPECT_FLOAT_EQ(x[10].item<float>(), 1);
}

}  // namespace
}  // namespace tessera
