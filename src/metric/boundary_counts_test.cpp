#include "metric/boundary_counts.h"

#include <gtest/gtest.h>

#include "core/rng.h"

namespace tessera {
namespace {

// The definition word for word: a pixel is inside where all of the square around it is in the image and of its class.
std::vector<uint8_t> by_definition(const LabelMap& map, int width) {
  std::vector<uint8_t> boundary;
  for (int y = 0; y < map.height; ++y) {
    for (int x = 0; x < map.width; ++x) {
      bool inside = true;
      for (int v = y - width; v <= y + width; ++v) {
        for (int u = x - width; u <= x + width; ++u) {
          inside = inside && v >= 0 && v < map.height && u >= 0 && u < map.width && map.at(v, u) == map.at(y, x);
        }
      }
      boundary.push_back(inside ? 0 : 1);
    }
  }
  return boundary;
}

void fill(LabelMap& map, int top, int left, int bottom, int right, int16_t label) {
  for (int y = top; y < bottom; ++y) {
    for (int x = left; x < right; ++x) map.at(y, x) = label;
  }
}

// Boxes of four classes and of ignored pixels over one another.
LabelMap boxes(Size size, uint64_t seed) {
  Rng rng(seed, Stream::kSynthetic);
  LabelMap map(size.height, size.width);
  for (int i = 0; i < 6; ++i) {
    const auto height = static_cast<uint32_t>(size.height), width = static_cast<uint32_t>(size.width);
    const int top = static_cast<int>(rng.below(height)), left = static_cast<int>(rng.below(width));
    fill(map, top, left, top + 1 + static_cast<int>(rng.below(height - static_cast<uint32_t>(top))),
         left + 1 + static_cast<int>(rng.below(width - static_cast<uint32_t>(left))), static_cast<int16_t>(i % 5 - 1));
  }
  return map;
}

TEST(BoundaryCounts, WidthIsAShareOfTheDiagonal) {
  EXPECT_EQ(boundary_width({300, 400}, 0.02), 10);
  EXPECT_EQ(boundary_width({720, 1280}, 0.02), 29);  // 29.37
  EXPECT_EQ(boundary_width({3, 4}, 0.02), 1);        // at least 1
  EXPECT_EQ(boundary_width({3, 4}, 0.5), 2);         // 2.5, to the even number
  EXPECT_EQ(boundary_width({9, 12}, 0.5), 8);        // 7.5
}

TEST(BoundaryCounts, PixelsAreThoseOfTheDefinition) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    for (const int width : {1, 2, 5, 40}) {
      for (const Size size : {Size{23, 31}, Size{1, 9}, Size{11, 1}, Size{30, 8}}) {
        const LabelMap map = boxes(size, seed);
        EXPECT_EQ(boundary_pixels(map, width), by_definition(map, width)) << seed << ", " << width;
      }
    }
  }
}

// A square of 5 x 5 in an image of 9 x 9, found one pixel further to the right. At a width of 1 the boundary of the square is
// its outer ring, 16 pixels, of which the two rings share 4 in the upper and in the lower row.
TEST(BoundaryCounts, ShiftedSquareByHand) {
  LabelMap truth(9, 9), predicted(9, 9);
  fill(truth, 2, 2, 7, 7, 1);
  fill(predicted, 2, 3, 7, 8, 1);
  const auto counts = count_boundaries(truth, predicted, 3, 0.02);
  EXPECT_EQ(counts[1], (ClassCounts{.tp = 8, .fp = 8, .fn = 8}));
  EXPECT_TRUE(counts[2].absent());
  EXPECT_EQ(count_boundaries(truth, truth, 2, 0.02)[1], (ClassCounts{.tp = 16}));
}

// What is predicted where nothing is labelled changes nothing, and makes no contour of its own.
TEST(BoundaryCounts, UnlabelledPixelsAreTakenOutOfBoth) {
  LabelMap truth(12, 12), predicted(12, 12), other(12, 12);
  fill(truth, 0, 0, 12, 6, kIgnoreLabel);
  fill(truth, 3, 6, 9, 10, 1);
  fill(predicted, 3, 2, 9, 10, 1);
  fill(other, 3, 6, 9, 10, 1);
  const auto counts = count_boundaries(truth, predicted, 2, 0.02);
  EXPECT_EQ(counts, count_boundaries(truth, other, 2, 0.02));
  EXPECT_EQ(counts[1], (ClassCounts{.tp = 16}));  // the ring of 6 x 4 pixels
}

}  // namespace
}  // namespace tessera
