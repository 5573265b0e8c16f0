#include "apps/chart_picture.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// A panel begins at (16, 16); x runs from 58 to 386 of 400, y from 34 to 228 of 290; all twice as large in pixels.
Color at(const Image& picture, double x, double y) {
  const auto pixel = (static_cast<size_t>(2 * y) * static_cast<size_t>(picture.width) + static_cast<size_t>(2 * x)) * 3;
  return {picture.bytes()[pixel], picture.bytes()[pixel + 1], picture.bytes()[pixel + 2]};
}

TEST(ChartPicture, CurvesGoWhereTheirNumbersAre) {
  const LineChart chart{
      .title = "t",
      .log_x = true,
      .lines = {{.label = "ideal", .points = {{1, 4}, {4, 4}}, .dashed = true}, {.label = "ddp", .points = {{1, 0}, {4, 4}}}}};
  const Image picture = chart_picture({chart});
  EXPECT_EQ(picture.size(), (Size{.height = 2 * 322, .width = 2 * 432}));
  const Color curve{0x0f, 0x76, 0x6e};
  for (const double share : {0.0, 0.25, 0.6, 1.0}) EXPECT_EQ(at(picture, 74 + share * 328, 244 - share * 194), curve) << share;
  EXPECT_EQ(at(picture, 74 + 0.25 * 328, 244 - 0.4 * 194), (Color{255, 255, 255}));
  int quiet = 0, white = 0;  // a dashed line along the top, over a line of the grid
  for (int x = 80; x < 390; ++x) {
    quiet += at(picture, x, 50) == Color{0x6a, 0x6d, 0x70} ? 1 : 0;
    white += at(picture, x, 50) == Color{0xe4, 0xe3, 0xde} ? 1 : 0;
  }
  EXPECT_NEAR(quiet, 5.0 / 9 * 310, 10);
  EXPECT_NEAR(white, 4.0 / 9 * 310, 10);
}

TEST(ChartPicture, PanelsLieInRows) {
  EXPECT_EQ(chart_picture({{}, {}, {}}).size(), (Size{.height = 2 * 628, .width = 2 * 848}));
}

}  // namespace
}  // namespace tessera
