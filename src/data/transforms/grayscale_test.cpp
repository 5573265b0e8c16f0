#include "data/transforms/grayscale.h"

#include <gtest/gtest.h>

#include "data/decode/color.h"
#include "support/samples.h"

namespace tessera {
namespace {

TEST(Grayscale, AllChannelsGetWhatAGreyImageWouldHave) {
  Sample sample = testing::numbered_sample({7, 9});
  Raster raster;
  raster.image = sample.image;
  raster.kind = ColorKind::kRgb;
  const Image grey = to_channels(raster, 1);
  Grayscale(GrayscaleConfig{.probability = 1}).apply(sample, testing::test_rng());
  for (int y = 0; y < 7; ++y) {
    for (int x = 0; x < 9; ++x) {
      for (int c = 0; c < 3; ++c) EXPECT_EQ(testing::pixel(sample.image, y, x, c), testing::pixel(grey, y, x));
    }
  }
}

TEST(Grayscale, OtherChannelsAreNoColours) {
  for (const int channels : {1, 2, 4}) {
    Sample sample = testing::numbered_sample({7, 9}, channels);
    Grayscale(GrayscaleConfig{.probability = 1}).apply(sample, testing::test_rng());
    EXPECT_EQ(sample.image.bytes(), testing::numbered_sample({7, 9}, channels).image.bytes());
  }
}

}  // namespace
}  // namespace tessera
