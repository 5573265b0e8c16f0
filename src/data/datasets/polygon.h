#pragma once
#include <span>
#include <vector>

#include "data/datasets/rle.h"

namespace tessera {

// The pixels COCO's own tools count as inside a polygon x0, y0, x1, y1, ..., bit for bit: vertices are rounded to a grid
// five times finer than the pixels, edges walked on that grid, and a column of pixels is entered or left where the
// boundary crosses the column's centre line. Overlaps follow the even-odd rule; parts outside the image are cut off.
// Throws Error unless there are at least three finite points of sane size, and where it costs more than is left of the budget,
// from which it takes.
std::vector<PixelRun> fill_polygon(std::span<const double> xy, Size size, OutlineBudget& budget);

}  // namespace tessera
