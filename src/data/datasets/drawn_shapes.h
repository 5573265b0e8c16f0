#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/image.h"

namespace tessera {

struct ShapePoint {
  double x = 0, y = 0;
};

// A stretch of a row, [begin, end) in it.
struct RowRun {
  int y = 0, begin = 0, end = 0;
};

// What the shapes of one image may cost together; see OutlineBudget.
struct ShapeBudget {
  uint64_t crossings = uint64_t{1} << 24;  // of rows and edges
};

// The pixels that Pillow's ImageDraw fills, the outline among them, bit for bit; runs may overlap. Coordinates are cut to whole
// numbers first, as Pillow does. Parts outside the image are cut off. Throw Error for coordinates far outside any image, and
// where the budget, from which they take, is not enough.

// At least three points; the last is joined to the first.
std::vector<RowRun> drawn_polygon(std::span<const ShapePoint> points, Size size, ShapeBudget& budget);

// Between two corners, both of them in it.
std::vector<RowRun> drawn_rectangle(ShapePoint one, ShapePoint other, Size size);

// That fits into the rectangle of two corners.
std::vector<RowRun> drawn_ellipse(ShapePoint low, ShapePoint high, Size size);

// Straight stretches from point to point, of a width in pixels; one of no length is a pixel. At least two points.
std::vector<RowRun> drawn_lines(std::span<const ShapePoint> points, int width, Size size, ShapeBudget& budget);

}  // namespace tessera
