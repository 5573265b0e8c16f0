#include "data/decode/class_channels.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "data/decode/png_writer.h"
#include "support/handmade_files.h"
#include "support/messages.h"

namespace tessera {
namespace {

using testing::message_of;

// One row of pixels.
std::vector<uint8_t> png_row(int channels, const std::vector<uint8_t>& values) {
  Image image(1, static_cast<int>(values.size()) / channels, channels);
  image.bytes() = values;
  return encode_png(image);
}

TEST(ClassChannels, AChannelIsAClassThatIsOnWhereItIsNotZero) {
  const auto file = png_row(3, {0, 0, 0, 255, 0, 0, 1, 7, 0, 255, 255, 255});
  EXPECT_EQ(decode_class_channels(file, {}, 3).labels, (std::vector<int16_t>{0, 1, 3, 7}));
}

TEST(ClassChannels, AnEmptyChannelNeedsNoClass) {
  EXPECT_EQ(decode_class_channels(png_row(3, {0, 9, 0, 9, 0, 0}), {}, 2).labels, (std::vector<int16_t>{2, 1}));
  EXPECT_CONTAINS(message_of([] {
                    decode_class_channels(png_row(3, {0, 9, 0, 9, 0, 5}), {}, 2);
                  }),
                  "channel 3 of the mask is 5 at (y 0, x 1), but data.classes has 2 names");
}

TEST(ClassChannels, AnIgnoredValueInAnyChannelIgnoresThePixel) {
  LabelConfig rules;
  rules.ignore = {128};
  EXPECT_EQ(decode_class_channels(png_row(3, {128, 1, 0, 1, 1, 0, 1, 0, 128}), rules, 2).labels,
            (std::vector<int16_t>{kIgnoreLabel, 3, kIgnoreLabel}));
}

TEST(ClassChannels, TooFewChannelsAndPalettesAreRefused) {
  EXPECT_EQ(decode_class_channels(png_row(1, {0, 1}), {}, 1).labels, (std::vector<int16_t>{0, 1}));
  EXPECT_CONTAINS(message_of([] {
                    decode_class_channels(png_row(1, {0, 1}), {}, 2);
                  }),
                  "the mask has 1 channel, expected one for each of the 2 classes");
  const testing::Bytes palette =
      testing::handmade_png(testing::png_header(2, 1, 8, 3), {0, 1, 0}, testing::png_chunk("PLTE", {0, 0, 0, 9, 9, 9}));
  EXPECT_CONTAINS(message_of([&] { decode_class_channels(palette, {}, 2); }), "the mask has a palette");
}

}  // namespace
}  // namespace tessera
