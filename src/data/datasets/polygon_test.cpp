#include "data/datasets/polygon.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/error.h"
#include "support/fixtures.h"

namespace tessera {
namespace {

TEST(Polygon, EqualsPycocotoolsBitForBit) {
  const auto fixture = testing::load_fixture("pycocotools.json");
  ASSERT_EQ(fixture.at("polygons").size(), 72U);
  for (const auto& item : fixture.at("polygons")) {
    const Size size{item.at("height"), item.at("width")};
    LabelMap expected(size.height, size.width), painted(size.height, size.width);
    paint_runs(expected, runs_from_lengths(item.at("lengths").get<std::vector<int64_t>>(), size), 1);
    for (const auto& polygon : item.at("polygons"))
      paint_runs(painted, fill_polygon(polygon.get<std::vector<double>>(), size), 1);
    EXPECT_EQ(painted.labels, expected.labels) << item.at("name");
  }
}

TEST(Polygon, SquareCoversItsPixels) {
  // Columns 1 and 2, rows 1 and 2 of a 4 x 4 image.
  EXPECT_EQ(fill_polygon(std::vector<double>{1, 1, 3, 1, 3, 3, 1, 3}, {4, 4}), (std::vector<PixelRun>{{5, 7}, {9, 11}}));
}

TEST(Polygon, RejectsWhatIsNoPolygon) {
  EXPECT_THROW(fill_polygon(std::vector<double>{1, 1, 3, 1, 3}, {4, 4}), Error);
  EXPECT_THROW(fill_polygon(std::vector<double>{1, 1, 3, 1}, {4, 4}), Error);
  EXPECT_THROW(fill_polygon(std::vector<double>{1, 1, 3, 1, 1e9, 3}, {4, 4}), Error);
  EXPECT_THROW(fill_polygon(std::vector<double>{1, 1, 3, 1, std::numeric_limits<double>::quiet_NaN(), 3}, {4, 4}), Error);
}

}  // namespace
}  // namespace tessera
