#include "data/datasets/drawn_shapes.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/fixtures.h"
#include "support/messages.h"

namespace tessera {
namespace {

std::vector<std::string> rows_of(const std::vector<RowRun>& runs, Size size) {
  std::vector<std::string> rows(static_cast<size_t>(size.height), std::string(static_cast<size_t>(size.width), '.'));
  for (const RowRun& run : runs) std::fill(rows.at(run.y).begin() + run.begin, rows.at(run.y).begin() + run.end, '#');
  return rows;
}

std::vector<RowRun> drawn(const std::string& kind, const std::vector<ShapePoint>& points, Size size) {
  ShapeBudget budget;
  if (kind == "polygon") return drawn_polygon(points, size, budget);
  if (kind.starts_with("line")) return drawn_lines(points, 10, size, budget);
  if (kind == "point") return drawn_ellipse({points[0].x - 5, points[0].y - 5}, {points[0].x + 5, points[0].y + 5}, size);
  if (kind == "rectangle") return drawn_rectangle(points[0], points[1], size);
  const double radius = std::hypot(points[0].x - points[1].x, points[0].y - points[1].y);
  return drawn_ellipse({points[0].x - radius, points[0].y - radius}, {points[0].x + radius, points[0].y + radius}, size);
}

TEST(DrawnShapes, AreThoseOfPillow) {
  const auto fixture = testing::load_fixture("drawn_shapes.json");
  ASSERT_EQ(fixture.size(), 380U);
  for (const auto& shape : fixture) {
    std::vector<ShapePoint> points;
    for (const auto& point : shape.at("points")) points.push_back({point[0], point[1]});
    const auto rows = shape.at("rows").get<std::vector<std::string>>();
    const Size size{static_cast<int>(rows.size()), static_cast<int>(rows[0].size())};
    EXPECT_EQ(rows_of(drawn(shape.at("kind"), points, size), size), rows) << shape.dump();
  }
}

TEST(DrawnShapes, WhatIsDamagedOrMadeToBeSlowIsRefused) {
  ShapeBudget budget;
  const Size size{1000, 1000};
  EXPECT_CONTAINS(testing::message_of([&] {
                    drawn_polygon(std::vector<ShapePoint>{{0, 0}, {1, 1}}, size, budget);
                  }),
                  "at least 3");
  EXPECT_CONTAINS(testing::message_of([&] { drawn_rectangle({0, 0}, {1e300, 1}, size); }), "far outside");
  EXPECT_CONTAINS(testing::message_of([&] { drawn_ellipse({0, 0}, {std::nan(""), 1}, size); }), "far outside");
  std::vector<ShapePoint> zigzag;
  for (int i = 0; i < 20'000; ++i) zigzag.push_back({static_cast<double>(i), i % 2 == 0 ? 0.0 : 999.0});
  EXPECT_CONTAINS(testing::message_of([&] { drawn_polygon(zigzag, size, budget); }), "made to be slow");
  zigzag.clear();
  for (int i = 0; i < 20'000; ++i) zigzag.push_back({3.0 * i, i % 2 == 0 ? 1.0 : 3.0});
  budget = {};
  EXPECT_CONTAINS(testing::message_of([&] { drawn_polygon(zigzag, size, budget); }), "made to be slow");
}

}  // namespace
}  // namespace tessera
