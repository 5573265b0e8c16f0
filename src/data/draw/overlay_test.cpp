#include "data/draw/overlay.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/error.h"

namespace tessera {
namespace {

using Bytes = std::vector<uint8_t>;

Image floats(std::vector<float> values, int channels, float max_value) {
  Image image;
  image.height = 1;
  image.channels = channels;
  image.width = static_cast<int>(values.size()) / channels;
  image.max_value = max_value;
  image.pixels = std::move(values);
  return image;
}

TEST(Display, GreyIsReplicatedAndExtraChannelsDropped) {
  Image grey(1, 2, 1);
  grey.bytes() = {7, 9};
  EXPECT_EQ(to_display(grey).bytes(), (Bytes{7, 7, 7, 9, 9, 9}));
  Image four(1, 1, 4);
  four.bytes() = {1, 2, 3, 4};
  EXPECT_EQ(to_display(four).bytes(), (Bytes{1, 2, 3}));
}

TEST(Display, FloatsAreStretchedOverTheirRange) {
  EXPECT_EQ(to_display(floats({100, 200, 300}, 1, 65535)).bytes(), (Bytes{0, 0, 0, 128, 128, 128, 255, 255, 255}));
  // A flat image has no range of its own.
  EXPECT_EQ(to_display(floats({32767.5F}, 1, 65535)).bytes(), (Bytes{128, 128, 128}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinite = std::numeric_limits<float>::infinity();
  EXPECT_EQ(to_display(floats({0, nan, 1, infinite}, 1, 1)).bytes(), (Bytes{0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255}));
}

TEST(Overlay, BlendsInsideDrawsLinesAndLeavesIgnored) {
  Image image(1, 5, 1);
  image.bytes() = {100, 100, 100, 100, 100};
  LabelMap labels(1, 5);
  labels.labels = {0, 0, 1, 1, kIgnoreLabel};
  // Inside: (100 + colour) / 2. On a line: the bright red of class 0 halved; class 1 is dark and goes two thirds to white.
  const Image out = overlay(image, labels, {{200, 100, 0}, {0, 0, 60}}, 0.5F);
  EXPECT_EQ(out.bytes(), (Bytes{150, 100, 50, 100, 50, 0, 50, 50, 80, 170, 170, 190, 100, 100, 100}));
}

TEST(Overlay, RefusesWhatDoesNotFit) {
  EXPECT_THROW(overlay(Image(2, 2, 1), LabelMap(2, 3), {{0, 0, 0}}, 0.5F), Error);
  EXPECT_THROW(overlay(Image(1, 1, 1), LabelMap(1, 1, 4), {{0, 0, 0}}, 0.5F), Error);
}

}  // namespace
}  // namespace tessera
