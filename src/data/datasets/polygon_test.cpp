#include "data/datasets/polygon.h"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>

#include "core/error.h"
#include "support/fixtures.h"
#include "support/messages.h"

namespace tessera {
namespace {

std::vector<PixelRun> filled(const std::vector<double>& xy, Size size) {
  OutlineBudget budget;
  return fill_polygon(xy, size, budget);
}

TEST(Polygon, EqualsPycocotoolsBitForBit) {
  const auto fixture = testing::load_fixture("pycocotools.json");
  ASSERT_EQ(fixture.at("polygons").size(), 72U);
  for (const auto& item : fixture.at("polygons")) {
    const Size size{item.at("height"), item.at("width")};
    std::vector<int16_t> expected(static_cast<size_t>(size.height) * static_cast<size_t>(size.width)), painted = expected;
    paint_runs(expected, runs_from_lengths(item.at("lengths").get<std::vector<int64_t>>(), size), 1);
    for (const auto& polygon : item.at("polygons")) paint_runs(painted, filled(polygon.get<std::vector<double>>(), size), 1);
    EXPECT_EQ(painted, expected) << item.at("name");
  }
}

TEST(Polygon, SquareCoversItsPixels) {
  // Columns 1 and 2, rows 1 and 2 of a 4 x 4 image.
  EXPECT_EQ(filled(std::vector<double>{1, 1, 3, 1, 3, 3, 1, 3}, {4, 4}), (std::vector<PixelRun>{{5, 7}, {9, 11}}));
}

// Steep edges from far above to far below, of which the image sees a piece; by hand from the rules of the header.
TEST(Polygon, EdgesFarOutsideAreCutOff) {
  EXPECT_EQ(filled(std::vector<double>{1, -1e5, 3, -1e5, 3, 1e5, 1, 1e5}, {4, 4}), (std::vector<PixelRun>{{4, 12}}));
  EXPECT_EQ(filled(std::vector<double>{-1e5, 1, 1e5, 1, 1e5, 3, -1e5, 3}, {4, 3}),
            (std::vector<PixelRun>{{1, 3}, {5, 7}, {9, 11}}));
}

// 10 MB and 17 ms for each of these edges, before only the image's columns were looked at.
TEST(Polygon, ManyPointsFarOutsideTakeNoTime) {
  std::vector<double> xy;
  for (int i = 0; i < 20'000; ++i) {
    xy.push_back(i % 2 == 0 ? -1e5 : 1e5);
    xy.push_back(i % 3 == 0 ? 1e5 : -1e5 + i);
  }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_LE(filled(xy, {32, 32}).size(), 32U * 16U);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(Polygon, RejectsWhatIsNoPolygon) {
  EXPECT_THROW(filled(std::vector<double>{1, 1, 3, 1, 3}, {4, 4}), Error);
  EXPECT_THROW(filled(std::vector<double>{1, 1, 3, 1}, {4, 4}), Error);
  EXPECT_THROW(filled(std::vector<double>{1, 1, 3, 1, 1e9, 3}, {4, 4}), Error);
  EXPECT_THROW(filled(std::vector<double>{1, 1, 3, 1, std::numeric_limits<double>::quiet_NaN(), 3}, {4, 4}), Error);
}

TEST(Polygon, AllOfAnImageShareOneBudget) {
  std::vector<double> zigzag;  // crosses all 1,000 columns with each of its 2,000 edges
  for (int i = 0; i < 2000; ++i) zigzag.insert(zigzag.end(), {i % 2 == 0 ? 0.0 : 1000.0, i / 2.0});
  OutlineBudget budget;
  for (int i = 0; i < 8; ++i) fill_polygon(zigzag, {1000, 1000}, budget);
  EXPECT_CONTAINS(testing::message_of([&] {
                    fill_polygon(zigzag, {1000, 1000}, budget);
                  }),
                  "cross columns of pixels more than");
}

}  // namespace
}  // namespace tessera
