#include "data/decode/png.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "support/handmade_files.h"

namespace tessera {
namespace {

using namespace testing;

TEST(Png, LowBitDepthsAreUnpackedNotStretched) {
  // Three pixels of 2 bits: 1, 3, 2; the last two bits of the byte are padding.
  const Raster raster = decode_png(handmade_png(png_header(3, 1, 2, 0), {0, 0b01111000}));
  EXPECT_EQ(raster.bits, 2);
  EXPECT_EQ(raster.kind, ColorKind::kGrey);
  EXPECT_EQ(raster.image.bytes(), (Bytes{1, 3, 2}));
}

TEST(Png, SixteenBitsAreBigEndianInTheFile) {
  const Raster raster = decode_png(handmade_png(png_header(1, 1, 16, 4), {0, 0x12, 0x34, 0xFF, 0xFF}));
  EXPECT_EQ(raster.kind, ColorKind::kGreyAlpha);
  EXPECT_EQ(raster.image.floats(), (std::vector<float>{0x1234, 65535}));
  EXPECT_EQ(raster.image.max_value, 65535.0F);
}

TEST(Png, PaletteKeepsItsColours) {
  const Raster raster =
      decode_png(handmade_png(png_header(2, 1, 1, 3), {0, 0b01000000}, png_chunk("PLTE", {1, 2, 3, 4, 5, 6})));
  EXPECT_EQ(raster.kind, ColorKind::kPalette);
  EXPECT_EQ(raster.image.bytes(), (Bytes{0, 1}));
  EXPECT_EQ(raster.palette, (std::vector<Color>{{1, 2, 3}, {4, 5, 6}}));
}

TEST(Png, DamagedTextDoesNotSpoilThePixels) {
  Bytes note = png_chunk("tEXt", {'a', 0, 'b'});
  note.back() ^= 1;
  EXPECT_EQ(decode_png(handmade_png(png_header(1, 1, 8, 0), {0, 77}, note)).image.bytes(), (Bytes{77}));
}

// An EXIF block of one entry, the orientation.
Bytes exif_block(uint8_t orientation) {
  return {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 0x01, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0, 0, 0, 0, 0};
}

TEST(Png, TheExifChunkTurnsPixelsOfEveryKindWhereAsked) {
  const Bytes turn = png_chunk("eXIf", exif_block(6));  // the stored bottom left is the top left
  const Bytes grey = handmade_png(png_header(3, 2, 8, 0), {0, 1, 2, 3, 0, 4, 5, 6}, turn);
  const Image turned = decode_png(grey, true).image, stored = decode_png(grey, false).image;
  EXPECT_EQ(turned.size(), (Size{3, 2}));
  EXPECT_EQ(turned.bytes(), (Bytes{4, 1, 5, 2, 6, 3}));
  EXPECT_EQ(stored.size(), (Size{2, 3}));
  EXPECT_EQ(stored.bytes(), (Bytes{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(decode_png(handmade_png(png_header(2, 1, 2, 0), {0, 0b01110000}, turn), true).image.bytes(), (Bytes{1, 3}));
  const Raster deep = decode_png(handmade_png(png_header(1, 2, 16, 0), {0, 0, 7, 0, 1, 0}, turn), true);
  EXPECT_EQ(deep.image.size(), (Size{1, 2}));
  EXPECT_EQ(deep.image.floats(), (std::vector<float>{256, 7}));
  EXPECT_EQ(deep.image.max_value, 65535.0F);
}

TEST(Png, ADamagedExifChunkDoesNotSpoilThePixels) {
  for (const Bytes& block : {Bytes{'I'}, Bytes{1, 2, 3, 4, 5, 6, 7, 8, 9}, exif_block(9), Bytes(3, 'M')}) {
    const Bytes file = handmade_png(png_header(2, 1, 8, 0), {0, 77, 78}, png_chunk("eXIf", block));
    EXPECT_EQ(decode_png(file, true).image.bytes(), (Bytes{77, 78})) << block.size();
  }
}

TEST(Png, BytesAfterTheEndAreNobodysBusiness) {
  Bytes file = handmade_png(png_header(1, 1, 8, 0), {0, 77});
  append(file, {1, 2, 3});
  EXPECT_EQ(decode_png(file).image.bytes(), (Bytes{77}));
}

}  // namespace
}  // namespace tessera
