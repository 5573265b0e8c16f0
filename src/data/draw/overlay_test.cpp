#include "data/draw/overlay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

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

TEST(Display, AFewHotPixelsDoNotLeaveTheRestDark) {
  std::vector<float> values(2000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  values.back() = 1e6F;  // 0.05 %
  const Image shown = to_display(floats(values, 1, 65535));
  EXPECT_NEAR(shown.bytes()[3 * 1000], 128, 1);
  EXPECT_EQ(shown.bytes().back(), 255);
}

TEST(Display, WordsAndStacksAreStretchedToo) {
  StoredImage words{Image(1, 3, 1)};
  words.pixels = std::vector<uint16_t>{100, 200, 300};
  Bytes row(9);
  DisplayRows(words).row(0, row.data());
  EXPECT_EQ(row, (Bytes{0, 0, 0, 128, 128, 128, 255, 255, 255}));
  Image stack(1, 2, 5);
  stack.bytes() = {0, 10, 7, 9, 9, 4, 20, 7, 9, 9};  // each channel by itself; the third is flat
  EXPECT_EQ(to_display(stack).bytes(), (Bytes{0, 0, 7, 255, 255, 7}));
}

TEST(Overlay, OutlinesLieInsideTheirRegionsAndLeaveTheBackground) {
  Image image(3, 5, 1);
  std::fill(image.bytes().begin(), image.bytes().end(), uint8_t{9});
  LabelMap labels(3, 5);
  for (int x = 1; x < 4; ++x) labels.at(1, x) = labels.at(2, x) = 1;
  const std::vector<Color> palette{{0, 0, 0}, {200, 100, 50}};
  const OverlayRows rows(image, labels, palette, {.outlines_only = true, .background = 0});
  const auto drawn = [&](int y) {
    Bytes row(15);
    rows.row(y, row.data());
    std::string shown;
    for (size_t x = 0; x < 5; ++x) shown += row[3 * x] == 200 ? '#' : row[3 * x] == 9 ? '.' : '?';
    return shown;
  };
  EXPECT_EQ(drawn(0), ".....");
  EXPECT_EQ(drawn(1), ".###.");
  EXPECT_EQ(drawn(2), ".#.#.");  // the border of the image is no outline
}

TEST(Overlay, LinesGrowWithThePicture) {
  EXPECT_EQ(line_width({100, 999}), 1);
  EXPECT_EQ(line_width({1000, 100}), 2);
  EXPECT_EQ(line_width({8000, 6000}), 3);
}

TEST(Overlay, RefusesWhatDoesNotFit) {
  EXPECT_THROW(overlay(Image(2, 2, 1), LabelMap(2, 3), {{0, 0, 0}}, 0.5F), Error);
  EXPECT_THROW(overlay(Image(1, 1, 1), LabelMap(1, 1, 4), {{0, 0, 0}}, 0.5F), Error);
}

}  // namespace
}  // namespace tessera
