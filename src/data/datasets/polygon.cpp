#include "data/datasets/polygon.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/error.h"

namespace tessera {
namespace {

constexpr int kGrid = 5;  // grid points to a pixel
constexpr int kCentre = 2;
constexpr double kScale = kGrid;
constexpr double kLargestCoordinate = 1e5;
constexpr size_t kCrossingsKept = size_t{1} << 18;

struct Point {
  int x = 0;
  int y = 0;
};

// Truncation, not floor: negative coordinates round as the reference's C casts do.
int to_grid(double coordinate) {
  return static_cast<int>(kScale * coordinate + 0.5);
}

// The grid points from one corner to the next. They must not depend on the direction, so each edge is computed from its lower
// end along the axis it is longer on.
class Edge {
 public:
  Edge(Point a, Point b) : along_x_(std::abs(b.x - a.x) >= std::abs(b.y - a.y)) {
    if (along_x_ ? a.x > b.x : a.y > b.y) std::swap(a, b);
    begin_ = a;
    steps_ = along_x_ ? b.x - a.x : b.y - a.y;
    if (steps_ > 0) slope_ = static_cast<double>(along_x_ ? b.y - a.y : b.x - a.x) / steps_;
  }

  Point at(int t) const {
    if (along_x_) return {begin_.x + t, static_cast<int>(begin_.y + slope_ * t + 0.5)};
    return {static_cast<int>(begin_.x + slope_ * t + 0.5), begin_.y + t};
  }
  int leftmost() const { return std::min(at(0).x, at(steps_).x); }
  int rightmost() const { return std::max(at(0).x, at(steps_).x); }

  // The lower of the two y between which the edge steps from x = left to left + 1; leftmost() <= left < rightmost(). x never
  // turns back, so a steep edge of a million points is searched, not walked.
  int step_y(int left) const {
    int first = 1;  // the first point on the other side of the step
    if (along_x_) {
      first = left - begin_.x + 1;
    } else {
      int last = steps_;
      while (first < last) {
        const int middle = first + (last - first) / 2;
        const bool beyond = slope_ > 0 ? at(middle).x > left : at(middle).x <= left;
        beyond ? last = middle : first = middle + 1;
      }
    }
    return std::min(at(first - 1).y, at(first).y);
  }

 private:
  Point begin_;
  bool along_x_;
  int steps_ = 0;
  double slope_ = 0;
};

// Sorts and removes pairs of equals: two crossings at one place leave the parity as it is. At most one per pixel is left.
void keep_odd(std::vector<int64_t>& crossings) {
  std::sort(crossings.begin(), crossings.end());
  size_t kept = 0;
  for (size_t i = 0; i < crossings.size(); ++i) {
    if (kept > 0 && crossings[kept - 1] == crossings[i]) {
      --kept;
    } else {
      crossings[kept++] = crossings[i];
    }
  }
  crossings.resize(kept);
}

// Where the boundary crosses the centre lines of pixel columns, as column-major positions in order: the parity of crossings up
// to a pixel says whether it is inside. Only the columns of the image are looked at, and memory is bounded by its pixels. The
// centre line of column c lies between the grid's x = 5 c + 2 and the next.
std::vector<int64_t> find_crossings(const std::vector<Point>& corners, Size size, OutlineBudget& budget) {
  std::vector<int64_t> crossings;
  size_t next_tidying = kCrossingsKept;
  for (size_t i = 0; i < corners.size(); ++i) {
    const Edge edge(corners[i], corners[(i + 1) % corners.size()]);
    const int first = edge.leftmost() <= kCentre ? 0 : (edge.leftmost() - kCentre + kGrid - 1) / kGrid;
    for (int column = first; column < size.width && kGrid * column + kCentre < edge.rightmost(); ++column) {
      const double row = (edge.step_y(kGrid * column + kCentre) + 0.5) / kScale - 0.5;
      const double clipped = std::ceil(std::clamp(row, 0.0, static_cast<double>(size.height)));
      TSR_CHECK(
          budget.crossings > 0,
          "the polygons of the image cross columns of pixels more than {} times; they are damaged, or were made to be slow",
          OutlineBudget{}.crossings);
      --budget.crossings;
      crossings.push_back(int64_t{column} * size.height + static_cast<int64_t>(clipped));
    }
    if (crossings.size() < next_tidying) continue;
    keep_odd(crossings);
    next_tidying = 2 * crossings.size() + kCrossingsKept;
  }
  keep_odd(crossings);
  return crossings;
}

}  // namespace

std::vector<PixelRun> fill_polygon(std::span<const double> xy, Size size, OutlineBudget& budget) {
  TSR_CHECK(xy.size() % 2 == 0, "polygon has {} numbers, expected pairs x, y", xy.size());
  TSR_CHECK(xy.size() >= 6, "polygon has {} numbers, expected at least 6 (three points)", xy.size());
  std::vector<Point> corners;
  for (size_t i = 0; i < xy.size(); i += 2) {
    TSR_CHECK(std::abs(xy[i]) <= kLargestCoordinate && std::abs(xy[i + 1]) <= kLargestCoordinate,
              "polygon has the point ({}, {}), far outside any image", xy[i], xy[i + 1]);
    corners.push_back({to_grid(xy[i]), to_grid(xy[i + 1])});
  }

  // A crossing at the very end (below the last column) has no partner; the image's end closes the run.
  std::vector<int64_t> crossings = find_crossings(corners, size, budget);
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
