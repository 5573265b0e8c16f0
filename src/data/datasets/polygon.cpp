#include "data/datasets/polygon.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/error.h"

namespace tessera {
namespace {

constexpr double kScale = 5.0;
constexpr double kLargestCoordinate = 1e5;  // keeps a damaged file from asking for gigabytes of boundary points

struct Point {
  int x = 0;
  int y = 0;
};

// Truncation, not floor: negative coordinates round as the reference's C casts do.
int to_grid(double coordinate) {
  return static_cast<int>(kScale * coordinate + 0.5);
}

// Appends the grid points from a to b, both included. The points of an edge must not depend on its direction, so each edge
// is computed from its lower end and, if need be, listed backwards.
void walk_edge(Point a, Point b, std::vector<Point>& points) {
  const int dx = std::abs(b.x - a.x), dy = std::abs(b.y - a.y);
  const bool along_x = dx >= dy;
  const bool backwards = along_x ? a.x > b.x : a.y > b.y;
  if (backwards) std::swap(a, b);
  const int steps = along_x ? dx : dy;
  const double slope = steps == 0 ? 0.0 : (along_x ? static_cast<double>(b.y - a.y) : static_cast<double>(b.x - a.x)) / steps;
  for (int i = 0; i <= steps; ++i) {
    const int t = backwards ? steps - i : i;
    if (along_x) {
      points.push_back({a.x + t, static_cast<int>(a.y + slope * t + 0.5)});
    } else {
      points.push_back({static_cast<int>(a.x + slope * t + 0.5), a.y + t});
    }
  }
}

// Where the boundary crosses the centre lines of pixel columns, as column-major positions: the parity of crossings up to a
// pixel says whether it is inside.
std::vector<int64_t> find_crossings(const std::vector<Point>& points, Size size) {
  std::vector<int64_t> crossings;
  for (size_t i = 1; i < points.size(); ++i) {
    const Point& before = points[i - 1];
    const Point& now = points[i];
    if (now.x == before.x) continue;
    const int left = now.x < before.x ? now.x : now.x - 1;
    const double column = (left + 0.5) / kScale - 0.5;
    if (std::floor(column) != column || column < 0 || column > size.width - 1) continue;
    const double row = (std::min(now.y, before.y) + 0.5) / kScale - 0.5;
    const double clipped = std::ceil(std::clamp(row, 0.0, static_cast<double>(size.height)));
    crossings.push_back(static_cast<int64_t>(column) * size.height + static_cast<int64_t>(clipped));
  }
  std::sort(crossings.begin(), crossings.end());
  return crossings;
}

}  // namespace

std::vector<PixelRun> fill_polygon(std::span<const double> xy, Size size) {
  TSR_CHECK(xy.size() % 2 == 0, "polygon has {} numbers, expected pairs x, y", xy.size());
  TSR_CHECK(xy.size() >= 6, "polygon has {} numbers, expected at least 6 (three points)", xy.size());
  std::vector<Point> corners;
  for (size_t i = 0; i < xy.size(); i += 2) {
    TSR_CHECK(std::abs(xy[i]) <= kLargestCoordinate && std::abs(xy[i + 1]) <= kLargestCoordinate,
              "polygon has the point ({}, {}), far outside any image", xy[i], xy[i + 1]);
    corners.push_back({to_grid(xy[i]), to_grid(xy[i + 1])});
  }
  std::vector<Point> points;
  for (size_t i = 0; i < corners.size(); ++i) walk_edge(corners[i], corners[(i + 1) % corners.size()], points);

  // A crossing at the very end (below the last column) has no partner; the image's end closes the run.
  std::vector<int64_t> crossings = find_crossings(points, size);
  const int64_t pixels = int64_t{size.height} * size.width;
  if (crossings.size() % 2 != 0) crossings.push_back(pixels);
  std::vector<PixelRun> runs;
  for (size_t i = 0; i < crossings.size(); i += 2) {
    const PixelRun run{crossings[i], crossings[i + 1]};
    if (run.begin == run.end) continue;
    if (!runs.empty() && runs.back().end == run.begin) {
      runs.back().end = run.end;
    } else {
      runs.push_back(run);
    }
  }
  return runs;
}

}  // namespace tessera
