#include "data/transforms/blur.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/samples.h"

namespace tessera {
namespace {

using testing::pixel;

TEST(Blur, AFlatImageStaysFlat) {
  Image image(5, 9, 3);
  std::fill(image.bytes().begin(), image.bytes().end(), uint8_t{77});
  blur_image(image, 1.7);
  EXPECT_EQ(image.bytes(), std::vector<uint8_t>(image.count(), 77));
}

TEST(Blur, AnImpulseBecomesTheGaussian) {
  Image image(15, 15, 1);
  image.pixels = std::vector<float>(image.count());
  image.floats()[7 * 15 + 7] = 1.0F;
  blur_image(image, 1.0);
  double sum = 0, norm = 0;
  for (int k = -3; k <= 3; ++k) norm += std::exp(-0.5 * k * k);
  for (float value : image.floats()) sum += value;
  EXPECT_NEAR(sum, 1.0, 1e-5);
  EXPECT_NEAR(pixel(image, 7, 7), 1 / (norm * norm), 1e-6);
  EXPECT_NEAR(pixel(image, 8, 9), std::exp(-0.5 * (1 + 4)) / (norm * norm), 1e-6);
  EXPECT_EQ(pixel(image, 7, 11), 0);  // beyond 3 sigma
}

TEST(Blur, ChannelsDoNotMix) {
  Image image(4, 4, 3);
  for (size_t i = 0; i < image.count(); i += 3) image.bytes()[i] = 200;
  blur_image(image, 2.5);
  EXPECT_EQ(pixel(image, 1, 1, 0), 200);
  EXPECT_EQ(pixel(image, 1, 1, 1), 0);
}

TEST(Blur, LabelsAndPlacementStay) {
  Sample sample = testing::numbered_sample({8, 8});
  Blur(BlurConfig{3.0, 1.0}).apply(sample, testing::test_rng());
  EXPECT_EQ(sample.labels->labels, testing::numbered_sample({8, 8}).labels->labels);
  EXPECT_NE(sample.image.bytes(), testing::numbered_sample({8, 8}).image.bytes());
  EXPECT_TRUE(sample.placement.complete);
}

}  // namespace
}  // namespace tessera
