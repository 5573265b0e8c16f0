#include "data/decode/bmp.h"

#include <gtest/gtest.h>

#include "support/handmade_files.h"
#include "support/messages.h"

namespace tessera {
namespace {

using testing::Bytes;

// `palette`: blue, green, red and a zero for each entry. `rows`: padded, the lowest first.
Bytes bmp_file(int32_t width, int32_t height, uint16_t bits, uint32_t compression, const Bytes& palette, const Bytes& rows) {
  Bytes file(54, 0);
  file[0] = 'B', file[1] = 'M';
  const auto put = [&](size_t at, uint32_t value, size_t size) { testing::HandmadeTiff::put(file, at, value, size); };
  put(10, static_cast<uint32_t>(54 + palette.size()), 4);
  put(14, 40, 4);
  put(18, static_cast<uint32_t>(width), 4);
  put(22, static_cast<uint32_t>(height), 4);
  put(26, 1, 2);
  put(28, bits, 2);
  put(30, compression, 4);
  put(46, compression == 0 ? static_cast<uint32_t>(palette.size() / 4) : 0, 4);
  testing::append(file, palette);
  testing::append(file, rows);
  return file;
}

TEST(Bmp, FourBitsAreIndicesOfItsPalette) {
  const Raster raster = decode_bmp(bmp_file(3, 2, 4, 0, {1, 2, 3, 0, 4, 5, 6, 0}, {0x10, 0x10, 0, 0, 0x01, 0x00, 0, 0}));
  EXPECT_EQ(raster.kind, ColorKind::kPalette);
  EXPECT_EQ(raster.image.bytes(), (Bytes{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(raster.palette, (std::vector<Color>{{3, 2, 1}, {6, 5, 4}}));
}

TEST(Bmp, ThirtyTwoBitsGoByTheirMasks) {
  const Raster plain = decode_bmp(bmp_file(1, 1, 32, 0, {}, {1, 2, 3, 9}));
  EXPECT_EQ(plain.kind, ColorKind::kRgb);
  EXPECT_EQ(plain.image.bytes(), (Bytes{3, 2, 1}));
  const Bytes masks = {0xFF, 0, 0, 0, 0, 0xFF, 0, 0, 0, 0, 0xFF, 0};  // red in the lowest byte
  EXPECT_EQ(decode_bmp(bmp_file(1, 1, 32, 3, masks, {1, 2, 3, 9})).image.bytes(), (Bytes{1, 2, 3}));
}

TEST(Bmp, WhatIsNotReadIsSaid) {
  const auto message = [](const Bytes& file) { return testing::message_of([&] { decode_bmp(file); }); };
  EXPECT_CONTAINS(message(bmp_file(1, 1, 8, 1, {}, {0, 0, 0, 0})), "8 bits a pixel with compression 1");
  EXPECT_CONTAINS(message(bmp_file(1, 1, 16, 0, {}, {0, 0, 0, 0})), "16 bits a pixel");
  EXPECT_CONTAINS(message(bmp_file(0, 1, 24, 0, {}, {})), "BMP says 0 x 1 pixels");
  EXPECT_CONTAINS(message(bmp_file(-5, 1, 24, 0, {}, {})), "BMP says 0 x 1 pixels");
  EXPECT_CONTAINS(message(bmp_file(3, 2, 24, 0, {}, Bytes(20, 0))), "BMP is truncated");
  EXPECT_CONTAINS(message(bmp_file(1, INT32_MIN, 24, 0, {}, {})), "more than the 2^30 limit");
  const Bytes bad_masks = {0xFF, 1, 0, 0, 0, 0xFF, 0, 0, 0, 0, 0xFF, 0};
  EXPECT_CONTAINS(message(bmp_file(1, 1, 32, 3, bad_masks, {1, 2, 3, 9})), "colour mask 000001FF");
}

}  // namespace
}  // namespace tessera
