#include "data/draw/class_overlay.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "data/draw/overlay.h"

namespace tessera {
namespace {

const ClassTable kTwo{{"cell", "nucleus"}, {{200, 100, 0}, {0, 100, 200}}, true};

Color color_at(const Image& image, int y, int x) {
  const size_t at = (static_cast<size_t>(y) * static_cast<size_t>(image.width) + static_cast<size_t>(x)) * 3;
  return {image.bytes()[at], image.bytes()[at + 1], image.bytes()[at + 2]};
}

TEST(ClassOverlay, BlendsTheColoursOfAPixelsClasses) {
  const Image black(3, 3, 3);
  EXPECT_EQ(color_at(draw_classes(black, LabelMap(3, 3, 3), kTwo, 1), 1, 1), (Color{100, 100, 100}));
  EXPECT_EQ(color_at(draw_classes(black, LabelMap(3, 3, 1), kTwo, 0.5F), 1, 1), (Color{100, 50, 0}));
}

TEST(ClassOverlay, LinesAClassThatLiesWithinAnother) {
  LabelMap labels(5, 5, 1);
  for (int y = 1; y < 4; ++y) {
    for (int x = 1; x < 4; ++x) labels.at(y, x) = 3;
  }
  const Image drawn = draw_classes(Image(5, 5, 3), labels, kTwo, 0.5F);
  EXPECT_EQ(color_at(drawn, 1, 1), line_color(kTwo.palette[1]));
  EXPECT_EQ(color_at(drawn, 2, 2), (Color{50, 50, 50}));
  EXPECT_EQ(color_at(drawn, 0, 0), (Color{100, 50, 0}));  // the image's border is no outline
}

TEST(ClassOverlay, PixelsWithoutAClassAndIgnoredOnesShowTheImage) {
  Image grey(1, 2, 3);
  grey.bytes().assign(6, 80);
  LabelMap labels(1, 2);
  labels.labels = {0, kIgnoreLabel};
  EXPECT_EQ(draw_classes(grey, labels, kTwo, 0.45F).bytes(), grey.bytes());
  EXPECT_EQ(draw_classes(grey, labels, kTwo, 1).bytes(), (std::vector<uint8_t>{0, 0, 0, 80, 80, 80}));
}

TEST(ClassOverlay, ClassesThatDoNotOverlapAreDrawnAsEver) {
  const ClassTable plain{kTwo.names, kTwo.palette};
  LabelMap labels(2, 2, 1);
  labels.at(0, 0) = 0;
  EXPECT_EQ(draw_classes(Image(2, 2, 3), labels, plain, 0.5F).bytes(),
            overlay(Image(2, 2, 3), labels, plain.palette, 0.5F).bytes());
}

TEST(ClassOverlay, OtherSizesAndClassesWithoutAColourAreRefused) {
  EXPECT_THROW(draw_classes(Image(2, 2, 3), LabelMap(2, 3), kTwo, 0.5F), Error);
  EXPECT_THROW(draw_classes(Image(1, 1, 3), LabelMap(1, 1, 4), kTwo, 0.5F), Error);
}

}  // namespace
}  // namespace tessera
