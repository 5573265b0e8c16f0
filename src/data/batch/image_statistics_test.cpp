#include "data/batch/image_statistics.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>

namespace tessera {
namespace {

// More values than are sorted or summed at once, so that they are read in bands.
at::Tensor large(at::ScalarType type, int64_t rows, double mean, double deviation) {
  torch::manual_seed(5);
  return (torch::randn({1, rows, 1024, 1}) * deviation + mean).to(type);
}

TEST(ImageStatistics, PercentilesInBandsAreOrderStatistics) {
  const NormalizeConfig config{
      .mode = NormalizeMode::kPercentile, .low = 0.01, .high = 0.99, .low_value = {}, .high_value = {}};
  for (const at::ScalarType type : {at::kFloat, at::kUInt16, at::kByte}) {
    const bool floats = type == at::kFloat;  // with negative values, too
    const at::Tensor image = large(type, 4200, floats ? 0 : 128, 20);
    const ImageStatistics found = image_statistics(image, 1, 65535, config, at::kFloat);
    const at::Tensor sorted = std::get<0>(image.to(at::kFloat).flatten().sort());
    const auto rank = [&](double share) { return static_cast<int64_t>(share * static_cast<double>(sorted.numel() - 1)); };
    const float low = sorted[rank(0.01)].item<float>(), high = sorted[rank(0.99)].item<float>();
    EXPECT_EQ(found.shift.item<float>(), low);
    EXPECT_EQ(found.range.item<float>(), high - low);
  }
}

TEST(ImageStatistics, MeanAndDeviationInBandsAgreeWithThoseOfTheWhole) {
  const NormalizeConfig config{.mode = NormalizeMode::kPerImage, .low_value = {}, .high_value = {}};
  const at::Tensor image = large(at::kByte, (1 << 16) + 3, 128, 20);
  const ImageStatistics found = image_statistics(image, 1, 255, config, at::kFloat);
  const at::Tensor counts = at::bincount(image.flatten(), {}, 256).to(at::kDouble), values = at::arange(256, at::kDouble);
  const double count = static_cast<double>(image.numel()), mean = (counts * values).sum().item<double>() / count;
  const double deviation = std::sqrt((counts * (values - mean).square()).sum().item<double>() / (count - 1));
  EXPECT_NEAR(found.shift.item<double>(), mean, 1e-6 * mean);  // stored in float32
  EXPECT_NEAR(found.range.item<double>(), deviation, 1e-6 * deviation);
}

TEST(ImageStatistics, AreChosenByImage) {
  const NormalizeConfig config{.mode = NormalizeMode::kPerImage, .low_value = {}, .high_value = {}};
  const at::Tensor images = torch::stack({torch::full({2, 2, 1}, 3.0F), torch::full({2, 2, 1}, 5.0F)});
  const ImageStatistics found = image_statistics(images, 1, 255, config, at::kFloat).of({1, 0, 1});
  EXPECT_TRUE(found.shift.flatten().equal(torch::tensor({5.0F, 3.0F, 5.0F})));
  EXPECT_FALSE(image_statistics(images, 1, 255, {}, at::kFloat).of({0}).defined());
}

}  // namespace
}  // namespace tessera
