#include "data/decode/mask.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "support/handmade_files.h"
#include "support/pillow.h"

namespace tessera {
namespace {

TEST(Mask, GivesTheStoredValuesOfEveryKind) {
  const auto masks = testing::load_fixture("pillow/masks.json").at("masks");
  ASSERT_EQ(masks.size(), 9U);
  for (const auto& entry : masks) {
    const auto name = entry.at("name").get<std::string>();
    SCOPED_TRACE(name);
    const RawMask mask = decode_mask(testing::numbers<uint8_t>(entry.at("file")));
    EXPECT_EQ(mask.height, 17);
    EXPECT_EQ(mask.width, 22);
    EXPECT_EQ(mask.rgb, name == "rgb");
    EXPECT_EQ(mask.values, testing::numbers<int32_t>(entry.at("values")));
  }
}

TEST(Mask, WholeNumbersOfAnyTypeAreLabels) {
  constexpr uint32_t kSampleFormat = 339, kSigned = 2, kFloat = 3;
  testing::HandmadeTiff objects = testing::grey_tiff(2, 1, 32, {{1, 0, 0, 0, 0, 0xFF, 0, 0}});
  EXPECT_EQ(decode_mask(objects.file()).values, (std::vector<int32_t>{1, 0xFF00}));
  EXPECT_EQ(decode_mask(objects.file()).bits, 16);
  objects.blocks = {{1, 0, 0, 0, 0xFF, 0, 0, 0}};
  objects.set(kSampleFormat, {kSigned});
  EXPECT_EQ(decode_mask(objects.file()).values, (std::vector<int32_t>{1, 255}));
  EXPECT_EQ(decode_mask(objects.file()).bits, 8);           // so 255 is not labelled
  objects.blocks = {{0, 0, 0x80, 0x3F, 0, 0, 0x40, 0x40}};  // 1.0F, 3.0F
  objects.set(kSampleFormat, {kFloat});
  EXPECT_EQ(decode_mask(objects.file()).values, (std::vector<int32_t>{1, 3}));
}

TEST(Mask, PaletteColoursComeAlong) {
  const RawMask mask = decode_mask(testing::pillow_file("decode", "images", "png_p"));
  ASSERT_GE(mask.palette.size(), 7U);
  EXPECT_EQ(mask.palette[1], (Color{36, 225, 91}));
}

TEST(Mask, AlphaIsDropped) {
  const RawMask mask = decode_mask(testing::pillow_image("png_rgba"));
  EXPECT_TRUE(mask.rgb);
  EXPECT_EQ(mask.values[0], 0 << 16 | 60 << 8 | 120);
  EXPECT_EQ(decode_mask(testing::pillow_image("png_la")).values[1], 9);
}

TEST(Mask, ExifTurnsItAsItTurnsAnImage) {
  const RawMask turned = decode_mask(testing::pillow_image("png_p4_oriented"), true);
  const RawMask stored = decode_mask(testing::pillow_image("png_p4_oriented"), false);
  EXPECT_EQ(turned.height, stored.width);
  EXPECT_EQ(turned.width, stored.height);
  EXPECT_EQ(turned.values.front(), stored.values[static_cast<size_t>(stored.width) - 1]);  // 8: the top right comes first
  EXPECT_EQ(stored.values, decode_mask(testing::pillow_image("png_p4")).values);
}

TEST(Mask, AnIndexBeyondThePaletteIsStillALabel) {
  // Some writers give colours to the classes only and mark the rest 255.
  const testing::Bytes file =
      testing::handmade_png(testing::png_header(2, 1, 8, 3), {0, 1, 255}, testing::png_chunk("PLTE", {0, 0, 0, 9, 9, 9}));
  EXPECT_EQ(decode_mask(file).values, (std::vector<int32_t>{1, 255}));
}

}  // namespace
}  // namespace tessera
