#include "data/transforms/resample.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/pillow.h"

namespace tessera {
namespace {

using testing::load_fixture;
using testing::numbers;
using testing::pattern;

TEST(Resize, BytesEqualPillowBitForBit) {
  const auto entries = load_fixture("pillow/resize.json").at("bytes");
  for (const auto& entry : entries) {
    const Size size{entry.at("height").get<int>(), entry.at("width").get<int>()};
    SCOPED_TRACE(::testing::Message() << size.height << " x " << size.width << " of " << entry.at("channels"));
    const Image out = resize_image(pattern(entry.at("channels").get<int>()), size);
    EXPECT_EQ(out.size(), size);
    EXPECT_EQ(out.bytes(), numbers<uint8_t>(entry.at("pixels")));
  }
}

TEST(Resize, FloatsEqualPillowToRounding) {
  Image source = pattern(1);
  std::vector<float> values(source.bytes().begin(), source.bytes().end());
  for (float& v : values) v = v * 257 - 1000;
  source.pixels = values;
  source.max_value = 65535;
  const auto entries = load_fixture("pillow/resize.json").at("floats");
  for (const auto& entry : entries) {
    const Image out = resize_image(source, {entry.at("height").get<int>(), entry.at("width").get<int>()});
    const auto expected = numbers<float>(entry.at("values"));
    ASSERT_EQ(out.floats().size(), expected.size());
    EXPECT_EQ(out.max_value, 65535.0F);
    // Sums of float instead of double: relative to the range of the image.
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(out.floats()[i], expected[i], 1e-6 * 65535);
  }
}

TEST(Resize, EveryChannelAsIfAlone) {
  const Image five = pattern(5);
  const Image out = resize_image(five, {9, 31});
  for (int c = 0; c < 5; ++c) {
    Image one(17, 22, 1);
    for (size_t i = 0; i < one.count(); ++i) one.bytes()[i] = five.bytes()[i * 5 + static_cast<size_t>(c)];
    const Image expected = resize_image(one, {9, 31});
    for (size_t i = 0; i < expected.count(); ++i) EXPECT_EQ(out.bytes()[i * 5 + static_cast<size_t>(c)], expected.bytes()[i]);
  }
}

TEST(Resize, HalvingWeighsFourPixelsByOneThreeThreeOne) {
  // The triangle of half-width 2 around each target centre: weights 1/8 3/8 3/8 1/8; at the border the part inside,
  // renormalised.
  Image line(1, 6, 1);
  line.bytes() = {0, 0, 80, 80, 0, 0};
  EXPECT_EQ(resize_image(line, {1, 3}).bytes(), (std::vector<uint8_t>{11, 60, 11}));
}

TEST(Resize, SameSizeIsACopy) {
  EXPECT_EQ(resize_image(pattern(3), {17, 22}).bytes(), pattern(3).bytes());
}

TEST(ResizeLabels, TakesTheSamePixelsAsPillow) {
  const auto entries = load_fixture("pillow/resize.json").at("labels");
  for (const auto& entry : entries) {
    const int source = entry.at("source").get<int>();
    const int target = entry.at("target").get<int>();
    SCOPED_TRACE(::testing::Message() << source << " to " << target);
    LabelMap line(2, source);
    for (int x = 0; x < source; ++x) line.at(0, x) = line.at(1, x) = static_cast<int16_t>(x);
    const LabelMap across = resize_labels(line, {2, target});
    const auto taken = entry.at("taken").get<std::vector<int16_t>>();
    for (int x = 0; x < target; ++x) EXPECT_EQ(across.at(1, x), taken[x]);
    LabelMap column(source, 1);
    for (int y = 0; y < source; ++y) column.at(y, 0) = static_cast<int16_t>(y);
    EXPECT_EQ(resize_labels(column, {target, 1}).labels, taken);
  }
}

TEST(ResizeLabels, KeepsIgnoreAndInventsNoClass) {
  LabelMap labels(1, 2);
  labels.labels = {kIgnoreLabel, 7};
  EXPECT_EQ(resize_labels(labels, {1, 4}).labels, (std::vector<int16_t>{kIgnoreLabel, kIgnoreLabel, 7, 7}));
}

}  // namespace
}  // namespace tessera
