#include "data/draw/heat_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace tessera {
namespace {

Image white(int height, int width) {
  Image image(height, width, 3);
  std::fill(image.bytes().begin(), image.bytes().end(), uint8_t{255});
  return image;
}

int brightness(const Image& image, size_t pixel) {
  return image.bytes()[3 * pixel] + image.bytes()[3 * pixel + 1] + image.bytes()[3 * pixel + 2];
}

TEST(HeatMap, ZeroIsTheDarkenedImageAndTheTopIsYellow) {
  const Image drawn = heat_overlay(white(1, 3), {0.0F, 1.0F, 7.0F}, 2.0F);
  EXPECT_EQ(drawn.bytes()[0], 89);  // 0.35 * 255
  EXPECT_EQ(drawn.bytes()[0], drawn.bytes()[2]);
  EXPECT_EQ(drawn.bytes()[6], 218);  // 0.2 * 89.25 + 0.8 * 250, for 7 as for everything above 2
  EXPECT_GT(drawn.bytes()[3], drawn.bytes()[5] + 50) << "the middle is reddish";
  EXPECT_GT(brightness(drawn, 2), brightness(drawn, 1));
}

TEST(HeatMap, FlatAndBrokenValuesAreDrawnAsZero) {
  EXPECT_EQ(heat_overlay(white(1, 1), {0.0F}, 0.0F).bytes()[1], 89);
  EXPECT_EQ(heat_grey({NAN, 0.5F}, {1, 2}, 1.0F).bytes(), (std::vector<uint8_t>{0, 128}));
  EXPECT_THROW(heat_overlay(white(1, 2), {0.0F}, 1.0F), Error);
}

TEST(HeatMap, FramesAreCutAtTheEdge) {
  Image image = white(4, 4);
  draw_frame(image, 2, 2, {3, 3}, {1, 2, 3});
  int changed = 0;
  for (size_t i = 0; i < 16; ++i) changed += image.bytes()[3 * i] == 1 ? 1 : 0;
  EXPECT_EQ(changed, 3);  // (2, 2), (2, 3) and (3, 2); the rest lies outside
}

}  // namespace
}  // namespace tessera
