#include "data/png.h"

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

TEST(Png, BytesAfterTheEndAreNobodysBusiness) {
  Bytes file = handmade_png(png_header(1, 1, 8, 0), {0, 77});
  append(file, {1, 2, 3});
  EXPECT_EQ(decode_png(file).image.bytes(), (Bytes{77}));
}

}  // namespace
}  // namespace tessera
