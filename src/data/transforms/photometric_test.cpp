#include "data/transforms/photometric.h"

#include <gtest/gtest.h>

#include "support/samples.h"

namespace tessera {
namespace {

Image one_pixel(std::vector<uint8_t> values) {
  Image image(1, 1, static_cast<int>(values.size()));
  image.bytes() = std::move(values);
  return image;
}

std::vector<uint8_t> changed(std::vector<uint8_t> values, const ColorChange& change) {
  Image image = one_pixel(std::move(values));
  change_colors(image, change);
  return image.bytes();
}

using Bytes = std::vector<uint8_t>;

TEST(Photometric, BrightnessIsAddedAndClipped) {
  EXPECT_EQ(changed({100, 200, 250}, {.brightness = 0.1}), (Bytes{126, 226, 255}));  // + 25.5, rounded once
  EXPECT_EQ(changed({10, 20, 30}, {.brightness = -0.1}), (Bytes{0, 0, 5}));
}

TEST(Photometric, ContrastMultiplies) {
  EXPECT_EQ(changed({10, 100, 200}, {.contrast = 1.5}), (Bytes{15, 150, 255}));
}

TEST(Photometric, ClippingDependsOnWhetherContrastIsLast) {
  // First: 200 * 1.5 clips to 255, then half the saturation lifts the other channel towards it.
  EXPECT_EQ(changed({200, 0, 0}, {.contrast = 1.5, .contrast_last = false, .saturation = 0.5}), (Bytes{255, 128, 128}));
  EXPECT_EQ(changed({200, 0, 0}, {.contrast = 1.5, .contrast_last = true, .saturation = 0.5}), (Bytes{255, 150, 150}));
}

TEST(Photometric, HueTurnsTheColourCircle) {
  EXPECT_EQ(changed({255, 0, 0}, {.hue = 120}), (Bytes{0, 255, 0}));
  EXPECT_EQ(changed({255, 0, 0}, {.hue = -120}), (Bytes{0, 0, 255}));
  EXPECT_EQ(changed({255, 0, 0}, {.hue = 60}), (Bytes{255, 255, 0}));
  EXPECT_EQ(changed({10, 200, 90}, {.hue = 360}), (Bytes{10, 200, 90}));
  EXPECT_EQ(changed({80, 80, 80}, {.saturation = 1.5, .hue = 90}), (Bytes{80, 80, 80}));
}

TEST(Photometric, DefaultHueIsThatOfTheReference) {
  EXPECT_EQ(PhotometricConfig{}.hue, 18 * 360 / 180.0);  // hue_delta 18 on OpenCV's circle of 180
}

TEST(Photometric, SaturationStopsAtPureColour) {
  EXPECT_EQ(changed({200, 100, 100}, {.saturation = 1.5}), (Bytes{200, 50, 50}));
  EXPECT_EQ(changed({200, 20, 20}, {.saturation = 1.5}), (Bytes{200, 0, 0}));
  EXPECT_EQ(changed({200, 100, 50}, {.saturation = 0}), (Bytes{200, 200, 200}));
}

TEST(Photometric, GreyImagesGetBrightnessAndContrastOnly) {
  EXPECT_EQ(changed({100}, {.brightness = 0.1, .contrast = 2, .saturation = 0, .hue = 50}), (Bytes{251}));
  EXPECT_EQ(changed({100, 0, 50, 20}, {.saturation = 0, .hue = 50}), (Bytes{100, 0, 50, 20}));
}

TEST(Photometric, FloatImagesUseTheirRangeAndAreNotClipped) {
  Image image(1, 1, 1);
  image.pixels = std::vector<float>{60000};
  image.max_value = 65535;
  change_colors(image, {.brightness = 0.2});
  EXPECT_NEAR(image.floats()[0], 60000 + 0.2 * 65535, 0.01);
}

TEST(Photometric, NeutralAndUnusedChangeNothing) {
  Sample sample = testing::numbered_sample({8, 8});
  Photometric(PhotometricConfig{.probability = 0}).apply(sample, testing::test_rng());
  EXPECT_EQ(sample.image.bytes(), testing::numbered_sample({8, 8}).image.bytes());
  Photometric(PhotometricConfig{.probability = 1}).apply(sample, testing::test_rng());
  EXPECT_NE(sample.image.bytes(), testing::numbered_sample({8, 8}).image.bytes());
}

}  // namespace
}  // namespace tessera
