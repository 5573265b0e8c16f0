#include "data/decode/png_writer.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "data/decode/decode.h"
#include "data/decode/label_rules.h"
#include "data/decode/mask.h"
#include "support/pillow.h"

namespace tessera {
namespace {

LabelMap row(std::vector<int16_t> labels) {
  LabelMap map(1, static_cast<int>(labels.size()));
  map.labels = std::move(labels);
  return map;
}

TEST(PngWriter, ImagesComeBackAsTheyWere) {
  for (const int channels : {1, 3}) {
    const Image image = testing::pattern(channels);
    const Image back = decode_image(encode_png(image), {.channels = channels});
    EXPECT_EQ(back.size(), image.size());
    EXPECT_EQ(back.bytes(), image.bytes());
  }
  EXPECT_THROW(encode_png(testing::pattern(2)), Error);
  EXPECT_THROW(encode_png(Image()), Error);
}

TEST(PngWriter, LabelsComeBackThroughTheLabelRules) {
  const struct {
    std::vector<int16_t> labels;
    int num_classes;
    int bits;
  } cases[] = {{{0, 1, kIgnoreLabel, 7}, 8, 8},
               {{0, 255}, 256, 8},
               {{0, 255, kIgnoreLabel}, 256, 16},
               {{kIgnoreLabel, 300, 2}, 400, 16},
               {{kIgnoreLabel, kIgnoreLabel}, 2, 8}};
  for (const auto& c : cases) {
    const RawMask mask = decode_mask(encode_png_labels(row(c.labels)));
    EXPECT_EQ(mask.bits, c.bits);
    EXPECT_EQ(apply_label_rules(mask, {}, c.num_classes).labels, c.labels);
  }
}

TEST(PngWriter, PalettesShowColoursAndKeepIndices) {
  const std::vector<Color> palette = {{10, 20, 30}, {200, 100, 50}};
  const auto file = encode_png_palette(row({1, 0, kIgnoreLabel}), palette);
  EXPECT_EQ(decode_mask(file).values, (std::vector<int32_t>{1, 0, 255}));
  EXPECT_EQ(decode_image(file, {.channels = 3}).bytes(), (std::vector<uint8_t>{200, 100, 50, 10, 20, 30, 0, 0, 0}));
  EXPECT_EQ(decode_mask(encode_png_palette(row({1, 0}), palette)).palette, palette);
}

TEST(PngWriter, PaletteLimits) {
  std::vector<Color> palette(256);
  EXPECT_EQ(decode_mask(encode_png_palette(row({255, 0}), palette)).values, (std::vector<int32_t>{255, 0}));
  EXPECT_THROW(encode_png_palette(row({255, kIgnoreLabel}), palette), Error);
  EXPECT_THROW(encode_png_palette(row({3}), {{0, 0, 0}}), Error);
  palette.resize(257);
  EXPECT_THROW(encode_png_palette(row({0}), palette), Error);
}

}  // namespace
}  // namespace tessera
