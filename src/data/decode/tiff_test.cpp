#include "data/decode/tiff.h"

#include <gtest/gtest.h>

#include <cstring>

#include "core/error.h"
#include "data/decode/decode.h"
#include "support/handmade_files.h"
#include "support/pillow.h"

namespace tessera {
namespace {

using testing::Bytes;
using testing::grey_tiff;
using testing::HandmadeTiff;

template <class T>
Bytes as_bytes(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

TEST(Tiff, ManyStrips) {
  HandmadeTiff tiff = grey_tiff(3, 3, 8, {{1, 2, 3, 4, 5, 6}, {7, 8, 9}});
  tiff.set(278, {2});
  const Raster raster = decode_tiff(tiff.file());
  EXPECT_EQ(raster.kind, ColorKind::kGrey);
  EXPECT_EQ(raster.image.bytes(), (Bytes{1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(Tiff, PlanesApartBecomePixels) {
  HandmadeTiff tiff = grey_tiff(2, 1, 8, {{1, 2}, {3, 4}, {5, 6}});
  tiff.set(258, {8, 8, 8});
  tiff.set(262, {2});
  tiff.set(277, {3});
  tiff.set(284, {2});
  const Raster raster = decode_tiff(tiff.file());
  EXPECT_EQ(raster.kind, ColorKind::kRgb);
  EXPECT_EQ(raster.image.bytes(), (Bytes{1, 3, 5, 2, 4, 6}));
}

// 18 x 17 pixels in tiles of 16 x 16: the outer ones are mostly padding.
TEST(Tiff, TilesAreCutAtTheBorder) {
  const Image expected = testing::pattern(1, 17, 18);
  std::vector<Bytes> tiles;
  for (int ty = 0; ty < 2; ++ty) {
    for (int tx = 0; tx < 2; ++tx) {
      Bytes tile(256, 99);
      for (int y = 0; y < 16 && ty * 16 + y < 17; ++y) {
        for (int x = 0; x < 16 && tx * 16 + x < 18; ++x) {
          tile[y * 16 + x] = expected.bytes()[(ty * 16 + y) * 18 + tx * 16 + x];
        }
      }
      tiles.push_back(tile);
    }
  }
  HandmadeTiff tiff = grey_tiff(18, 17, 8, tiles);
  tiff.tags.pop_back();  // rows per strip
  tiff.set(322, {16});
  tiff.set(323, {16});
  tiff.tiled = true;
  EXPECT_EQ(decode_tiff(tiff.file()).image.bytes(), expected.bytes());
}

TEST(Tiff, Depths) {
  const auto decode = [](uint32_t bits, uint32_t format, const Bytes& strip, uint32_t width) {
    HandmadeTiff tiff = grey_tiff(width, 1, bits, {strip});
    tiff.set(339, {format});
    return decode_tiff(tiff.file()).image;
  };
  const Image wide = decode(32, 1, as_bytes<uint32_t>({0, 7, 4294967295U}), 3);
  EXPECT_EQ(wide.floats(), (std::vector<float>{0, 7, 4294967296.0F}));
  EXPECT_EQ(wide.max_value, 4294967295.0F);
  const Image with_sign = decode(16, 2, as_bytes<int16_t>({-5, 32767}), 2);
  EXPECT_EQ(with_sign.floats(), (std::vector<float>{-5, 32767}));
  EXPECT_EQ(with_sign.max_value, 32767.0F);
  EXPECT_EQ(decode(8, 2, as_bytes<int8_t>({-5, 127}), 2).floats(), (std::vector<float>{-5, 127}));
  const Image real = decode(64, 3, as_bytes<double>({-0.5, 2.25}), 2);
  EXPECT_EQ(real.floats(), (std::vector<float>{-0.5, 2.25}));
  EXPECT_EQ(real.max_value, 1.0F);
  // 1 0 1 1 | 0 0 0 0, the last four bits padding.
  EXPECT_EQ(decode(1, 1, {0xB0}, 4).bytes(), (Bytes{1, 0, 1, 1}));
  EXPECT_EQ(decode(4, 1, {0x5F, 0x30}, 3).bytes(), (Bytes{5, 15, 3}));
}

TEST(Tiff, WhiteZeroIsInverted) {
  HandmadeTiff bytes = grey_tiff(2, 1, 8, {{0, 250}});
  bytes.set(262, {0});
  EXPECT_EQ(decode_tiff(bytes.file()).image.bytes(), (Bytes{255, 5}));
  HandmadeTiff words = grey_tiff(2, 1, 16, {as_bytes<uint16_t>({0, 65530})});
  words.set(262, {0});
  EXPECT_EQ(decode_tiff(words.file()).image.floats(), (std::vector<float>{65535, 5}));
}

TEST(Tiff, UnexplainedSamplesAreAStack) {
  HandmadeTiff tiff = grey_tiff(2, 1, 8, {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}});
  tiff.set(258, {8, 8, 8, 8, 8});
  tiff.set(277, {5});
  const Bytes file = tiff.file();
  EXPECT_EQ(decode_image(file, {.channels = 5}).bytes(), (Bytes{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  EXPECT_THROW(decode_image(file, {.channels = 3}), Error);
}

TEST(Tiff, PreviewPagesAreSkipped) {
  // The first page is the picture, the second says it is a reduced version of it.
  HandmadeTiff tiff = grey_tiff(2, 1, 8, {{1, 2}});
  Bytes file = tiff.file();
  const auto second = static_cast<uint32_t>(file.size() + 8 + 4);
  tiff.next_directory = second;
  file = tiff.file();
  Bytes preview = {0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0};
  const std::vector<std::pair<uint32_t, uint32_t>> tags = {{254, 1}, {256, 1},          {257, 1}, {258, 8}, {259, 1},
                                                           {262, 1}, {273, second - 4}, {277, 1}, {278, 1}, {279, 1}};
  testing::append(file, preview);
  file.resize(second + 2 + 12 * tags.size() + 4);
  HandmadeTiff::put(file, second, static_cast<uint32_t>(tags.size()), 2);
  for (size_t i = 0; i < tags.size(); ++i) {
    HandmadeTiff::put(file, second + 2 + 12 * i, tags[i].first, 2);
    HandmadeTiff::put(file, second + 2 + 12 * i + 2, 4, 2);
    HandmadeTiff::put(file, second + 2 + 12 * i + 4, 1, 4);
    HandmadeTiff::put(file, second + 2 + 12 * i + 8, tags[i].second, 4);
  }
  const Raster raster = decode_tiff(file);
  EXPECT_EQ(raster.kind, ColorKind::kGrey);
  EXPECT_EQ(raster.image.bytes(), (Bytes{1, 2}));
}

}  // namespace
}  // namespace tessera
