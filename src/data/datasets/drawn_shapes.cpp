#include "data/datasets/drawn_shapes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "core/error.h"

namespace tessera {
namespace {

constexpr double kLargestCoordinate = 1e5;

// Towards zero.
int whole(double coordinate) {
  TSR_CHECK(std::abs(coordinate) <= kLargestCoordinate, "it has the coordinate {}, far outside any image", coordinate);
  return static_cast<int>(coordinate);
}

class Runs {
 public:
  explicit Runs(Size size) : size_(size) {}

  // The pixels first to last.
  void add(int y, int first, int last) {
    first = std::max(first, 0);
    last = std::min(last, size_.width - 1);
    if (y >= 0 && y < size_.height && first <= last) runs_.push_back({y, first, last + 1});
  }
  std::vector<RowRun> take() { return std::move(runs_); }

 private:
  Size size_;
  std::vector<RowRun> runs_;
};

// Halves go away from zero where a run begins and towards it where it ends.
template <class Number>
int run_start(Number x) {
  constexpr Number kHalf(0.5);
  return static_cast<int>(x >= 0 ? std::floor(x + kHalf) : -std::floor(-x + kHalf));
}
template <class Number>
int run_end(Number x) {
  constexpr Number kHalf(0.5);
  return static_cast<int>(x >= 0 ? std::ceil(x - kHalf) : -std::ceil(-x - kHalf));
}

// An edge that is not level. Single precision decides which pixels it touches, so it must be used here too.
class Slope {
 public:
  Slope(int x0, int y0, int x1, int y1)
      : top_(std::min(y0, y1)),
        bottom_(std::max(y0, y1)),
        x_(x0),
        y_(y0),
        per_row_(static_cast<float>(x1 - x0) / static_cast<float>(y1 - y0)) {}

  int top() const { return top_; }
  int bottom() const { return bottom_; }
  bool has(int y) const { return y >= top_ && y <= bottom_; }
  bool slanted_end(int y) const { return per_row_ != 0 && (y == top_ || y == bottom_); }
  float at(int y) const {
    const float along = static_cast<float>(y - y_) * per_row_;
    return along + static_cast<float>(x_);
  }

 private:
  int top_, bottom_, x_, y_;
  float per_row_;
};

void take(ShapeBudget& budget) {
  TSR_CHECK(budget.crossings > 0, "the shapes of the image cross its rows more than {} times; they were made to be slow",
            ShapeBudget{}.crossings);
  --budget.crossings;
}

// Where a slanted edge ends on a row that another, earlier one of the row ends on in the same pixel, and both come from the
// same side by more than a pixel per row: the crossing moves to the nearest pixel that the next row has, so that thin corners
// stay in one piece.
float joined(const Slope& edge, std::span<const Slope* const> earlier, int y, ShapeBudget& budget) {
  const float x = edge.at(y);
  const int beside = y + (y == edge.bottom() ? -1 : 1);
  for (const Slope* other : earlier) {
    take(budget);
    if (!other->slanted_end(y) || std::round(x) != std::round(other->at(y)) || !other->has(beside)) continue;
    const float own = edge.at(beside), others = other->at(beside);
    if (x > own + 1 && x > others + 1) return std::round(std::max(own, others)) + 1;
    if (x < own - 1 && x < others - 1) return std::round(std::min(own, others)) - 1;
    return x;
  }
  return x;
}

}  // namespace

std::vector<RowRun> drawn_polygon(std::span<const ShapePoint> points, Size size, ShapeBudget& budget) {
  TSR_CHECK(points.size() >= 3, "a polygon has {} points, expected at least 3", points.size());
  Runs runs(size);
  std::vector<Slope> edges;
  int bottom = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    const ShapePoint &from = points[i], &to = points[(i + 1) % points.size()];
    const int x0 = whole(from.x), y0 = whole(from.y), x1 = whole(to.x), y1 = whole(to.y);
    bottom = std::max({bottom, y0, y1});
    if (i + 1 == points.size() && x0 == x1 && y0 == y1) break;  // closed already
    if (y0 == y1) {
      runs.add(y0, std::min(x0, x1), std::max(x0, x1));
    } else {
      edges.emplace_back(x0, y0, x1, y1);
    }
  }
  bottom = std::min(bottom, size.height);
  std::vector<std::vector<const Slope*>> rows(static_cast<size_t>(size.height));
  for (const Slope& edge : edges) {
    for (int y = std::max(edge.top(), 0); y <= std::min(edge.bottom(), size.height - 1); ++y) {
      take(budget);
      rows[static_cast<size_t>(y)].push_back(&edge);
    }
  }
  for (int y = 0; y < size.height; ++y) {
    const std::vector<const Slope*>& row = rows[static_cast<size_t>(y)];
    std::vector<float> crossings;
    for (size_t i = 0; i < row.size(); ++i) {
      const Slope& edge = *row[i];
      if (y == edge.bottom() && y < bottom) {
        crossings.insert(crossings.end(), 2, edge.at(y));  // the edge that goes on from here counts too
      } else {
        crossings.push_back(edge.slanted_end(y) ? joined(edge, std::span(row).first(i), y, budget) : edge.at(y));
      }
    }
    std::sort(crossings.begin(), crossings.end());
    for (size_t i = 1; i < crossings.size(); i += 2) runs.add(y, run_start(crossings[i - 1]), run_end(crossings[i]));
  }
  return runs.take();
}

std::vector<RowRun> drawn_rectangle(ShapePoint one, ShapePoint other, Size size) {
  const auto [left, right] = std::minmax({whole(one.x), whole(other.x)});
  const auto [top, bottom] = std::minmax({whole(one.y), whole(other.y)});
  Runs runs(size);
  for (int y = std::max(top, 0); y <= std::min(bottom, size.height - 1); ++y) runs.add(y, left, right);
  return runs.take();
}

// A walk along a quarter of the outline from its widest row up, one pixel at a time, always to the neighbour whose point is
// nearest to the ellipse. Coordinates are doubled and from the centre, so that centres between pixels are whole.
std::vector<RowRun> drawn_ellipse(ShapePoint low, ShapePoint high, Size size) {
  const int left = whole(low.x), top = whole(low.y), width = whole(high.x) - left, height = whole(high.y) - top;
  Runs runs(size);
  if (width < 0 || height < 0 || width + height == 0) return {};
  const double a = double{1} * width * width, b = double{1} * height * height;
  const auto distance = [&](int x, int y) { return std::abs(a * y * y + b * x * x - a * b); };
  int x = width, row = -1;
  for (int y = height % 2; y <= height;) {
    if (y != row) {
      row = y;
      for (const int mirrored : {y, -y})
        runs.add(top + (mirrored + height) / 2, left + (width - x) / 2, left + (width + x) / 2);
    }
    int next_x = x, next_y = y + 2;
    double nearest = distance(next_x, next_y);
    if (x > 1) {
      for (const int dy : {2, 0}) {
        if (distance(x - 2, y + dy) >= nearest) continue;
        nearest = distance(x - 2, y + dy);
        next_x = x - 2;
        next_y = y + dy;
      }
    }
    x = next_x;
    y = next_y;
  }
  return runs.take();
}

std::vector<RowRun> drawn_lines(std::span<const ShapePoint> points, int width, Size size, ShapeBudget& budget) {
  TSR_CHECK(points.size() >= 2, "a line has {} points, expected at least 2", points.size());
  std::vector<RowRun> runs;
  // Half of an even width is not whole: one side of the line gets what the other lacks.
  const double half = (width - 1) / 2.0;
  for (size_t i = 1; i < points.size(); ++i) {
    const int x0 = whole(points[i - 1].x), y0 = whole(points[i - 1].y), x1 = whole(points[i].x), y1 = whole(points[i].y);
    const int dx = x1 - x0, dy = y1 - y0;
    std::vector<RowRun> stretch;
    if (dx == 0 && dy == 0) {
      Runs pixel(size);
      pixel.add(y0, x0, x0);
      stretch = pixel.take();
    } else {
      const double length = std::hypot(dx, dy), less = run_end(half) / length, more = run_start(half) / length;
      const int left = run_end(less * dy), right = run_end(more * dy), up = run_start(less * dx), down = run_start(more * dx);
      const auto corner = [](int x, int y) { return ShapePoint{static_cast<double>(x), static_cast<double>(y)}; };
      const std::array<ShapePoint, 4> corners = {corner(x0 - left, y0 + down), corner(x1 - left, y1 + down),
                                                 corner(x1 + right, y1 - up), corner(x0 + right, y0 - up)};
      stretch = drawn_polygon(corners, size, budget);
    }
    runs.insert(runs.end(), stretch.begin(), stretch.end());
  }
  return runs;
}

}  // namespace tessera
