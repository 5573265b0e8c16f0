#include "data/decode/orient.h"

#include <gtest/gtest.h>

#include <map>

#include "data/decode/exif.h"

namespace tessera {
namespace {

// 1 2 3
// 4 5 6
Image six() {
  Image image(2, 3, 1);
  image.bytes() = {1, 2, 3, 4, 5, 6};
  return image;
}

TEST(Orient, AllEightTurnsByHand) {
  const std::map<int, std::vector<uint8_t>> expected = {
      {1, {1, 2, 3, 4, 5, 6}}, {2, {3, 2, 1, 6, 5, 4}}, {3, {6, 5, 4, 3, 2, 1}}, {4, {4, 5, 6, 1, 2, 3}},
      {5, {1, 4, 2, 5, 3, 6}}, {6, {4, 1, 5, 2, 6, 3}}, {7, {6, 3, 5, 2, 4, 1}}, {8, {3, 6, 2, 5, 1, 4}}};
  for (const auto& [orientation, pixels] : expected) {
    const Image out = orient(six(), orientation);
    EXPECT_EQ(out.bytes(), pixels) << orientation;
    EXPECT_EQ(out.size(), orientation >= 5 ? (Size{3, 2}) : (Size{2, 3})) << orientation;
  }
}

TEST(Orient, MovesWholePixelsAndKeepsTheRange) {
  Image image;
  image.height = 1;
  image.width = 2;
  image.channels = 2;
  image.max_value = 65535.0F;
  image.pixels = std::vector<float>{1, 2, 3, 4};
  const Image out = orient(image, 8);
  EXPECT_EQ(out.floats(), (std::vector<float>{3, 4, 1, 2}));
  EXPECT_EQ(out.max_value, 65535.0F);
}

std::vector<uint8_t> exif_block(std::vector<uint8_t> tiff) {
  std::vector<uint8_t> block = {'E', 'x', 'i', 'f', 0, 0};
  block.insert(block.end(), tiff.begin(), tiff.end());
  return block;
}

TEST(Exif, ReadsBothByteOrders) {
  EXPECT_EQ(exif_orientation(exif_block({'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0})), 6);
  EXPECT_EQ(exif_orientation(exif_block({'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 8, 0, 0})), 8);
}

TEST(Exif, DamageMeansAsStored) {
  EXPECT_EQ(exif_orientation({}), 1);
  EXPECT_EQ(exif_orientation(exif_block({})), 1);
  EXPECT_EQ(exif_orientation(exif_block({'I', 'I', 42, 0, 0xFF, 0xFF, 0xFF, 0xFF})), 1);
  // Orientation 9, and a directory that says 65535 entries but ends after one.
  EXPECT_EQ(exif_orientation(exif_block({'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 9, 0, 0, 0})), 1);
  EXPECT_EQ(exif_orientation(exif_block({'I', 'I', 42, 0, 8, 0, 0, 0, 255, 255, 0x13, 1, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0})), 1);
}

}  // namespace
}  // namespace tessera
