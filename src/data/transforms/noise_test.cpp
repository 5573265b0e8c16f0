#include "data/transforms/noise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/samples.h"

namespace tessera {
namespace {

Image flat(float value, int side) {
  Image image(side, side, 1);
  image.pixels = std::vector<float>(image.count(), value);
  return image;
}

TEST(Noise, IsGaussianAndIndependent) {
  constexpr double kSigma = 3;
  Image image = flat(0, 400);
  add_noise(image, kSigma, testing::test_rng());
  double sum = 0, squares = 0, cubes = 0, fourths = 0, neighbours = 0;
  const std::vector<float>& values = image.floats();
  for (size_t i = 0; i < values.size(); ++i) {
    const double z = values[i] / kSigma;
    sum += z, squares += z * z, cubes += z * z * z, fourths += z * z * z * z;
    if (i > 0) neighbours += z * values[i - 1] / kSigma;
  }
  const auto count = static_cast<double>(values.size());  // 160,000: five deviations of each mean are below the bounds
  EXPECT_NEAR(sum / count, 0, 0.0125);
  EXPECT_NEAR(squares / count, 1, 0.018);
  EXPECT_NEAR(cubes / count, 0, 0.049);
  EXPECT_NEAR(fourths / count, 3, 0.13);
  EXPECT_NEAR(neighbours / count, 0, 0.0125);
}

TEST(Noise, BytesAreRoundedAndKeptInRange) {
  Image image(50, 50, 1);
  add_noise(image, 20, testing::test_rng());
  size_t black = 0;
  for (const uint8_t value : image.bytes()) black += value == 0 ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(black), 0.51 * 2500, 125);  // half of it is negative, and what rounds to 0
}

TEST(Noise, IsMeasuredByTheRangeOfTheImage) {
  Sample sample;
  sample.image = flat(1000, 64);
  sample.image.max_value = 65535;
  sample.image.floats()[0] = 1100;  // 12-bit values in a 16-bit file use a small part of it
  Noise(NoiseConfig{.max_sigma = 0.05, .probability = 1}).apply(sample, testing::test_rng());
  for (const float value : sample.image.floats()) ASSERT_NEAR(value, 1000, 130);
  EXPECT_NE(sample.image.floats()[1], 1000);
}

}  // namespace
}  // namespace tessera
