#include "data/draw/legend.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera {
namespace {

bool holds(const Image& picture, const Color& color) {
  for (size_t i = 0; i < picture.count(); i += 3) {
    if (std::equal(color.begin(), color.end(), picture.bytes().begin() + static_cast<int64_t>(i))) return true;
  }
  return false;
}

const ClassTable kClasses{{"background", "nucleus", "debris"}, {{0, 0, 0}, {230, 85, 30}, {45, 125, 210}}};

TEST(Legend, ShowsTheClassesThatOccur) {
  LabelMap labels(10, 200);
  labels.at(3, 3) = 2;
  labels.at(4, 4) = kIgnoreLabel;
  const Image strip = draw_legend(labels, kClasses, labels.width);
  EXPECT_EQ(strip.width, 200);
  EXPECT_EQ(strip.height, 2 * 4 + 7);  // one line
  EXPECT_TRUE(holds(strip, kClasses.palette[2]));
  EXPECT_FALSE(holds(strip, kClasses.palette[1]));
}

TEST(Legend, IsAsWideAsItsLongestNameAndHasLines) {
  LabelMap labels(20, 20);
  labels.at(0, 0) = 1;
  const Image strip = draw_legend(labels, kClasses, labels.width);
  EXPECT_EQ(strip.width, 2 * 4 + 7 + 3 + 10 * 6);  // "background"
  EXPECT_EQ(strip.height, 2 * 4 + 7 + 11);
}

TEST(Legend, LettersGrowWithThePicture) {
  EXPECT_EQ(draw_legend(LabelMap(8000, 3), kClasses, 3).height, 31 * (2 * 4 + 7));
}

}  // namespace
}  // namespace tessera
