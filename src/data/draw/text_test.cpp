#include "data/draw/text.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// The picture of a text, '#' for its dots.
std::string dots(const std::string& text, int height, int width, int scale = 1, int left = 0) {
  Image picture(height, width, 3);
  draw_text(picture, 0, left, text, scale, {255, 1, 2});
  std::string rows;
  for (size_t i = 0; i < picture.count(); i += 3) {
    rows += picture.bytes()[i] == 255 ? '#' : '.';
    if ((i / 3 + 1) % static_cast<size_t>(width) == 0) rows += '\n';
  }
  return rows;
}

TEST(Text, LettersAreReadable) {
  EXPECT_EQ(dots("Ti", 7, 12),
            "#####...#...\n"
            "..#.........\n"
            "..#....##...\n"
            "..#.....#...\n"
            "..#.....#...\n"
            "..#.....#...\n"
            "..#....###..\n");
}

TEST(Text, DotsGrowWithTheScaleAndStayInside) {
  EXPECT_EQ(dots("-", 8, 4, 2), "....\n....\n....\n....\n....\n....\n####\n####\n");
  EXPECT_EQ(dots("-", 4, 3, 1, -2), "...\n...\n...\n###\n");
}

TEST(Text, AccentsAreDroppedAndOthersAsked) {
  EXPECT_EQ(count_letters("größe"), 5);
  EXPECT_EQ(dots("größe", 7, 30), dots("grose", 7, 30));
  EXPECT_EQ(dots("細", 7, 6), dots("?", 7, 6));
}

}  // namespace
}  // namespace tessera
