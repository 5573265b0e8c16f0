#pragma once
#include <vector>

#include "core/components.h"

namespace tessera {

// A corner of pixels: pixel (y, x) has its corners at (x, y) and (x + 1, y + 1).
struct Corner {
  int x = 0;
  int y = 0;
  friend bool operator==(const Corner&, const Corner&) = default;
};

// A closed line, its last corner joined to its first, which is not repeated. No corner comes twice.
using Ring = std::vector<Corner>;

// The outline of a region whose pixels share edges. By the numbers of the coordinates, `outer` runs counter-clockwise and holes
// clockwise (on a screen, where y points down, it looks the other way round). Rings may touch one another at corners, and never
// cross.
struct Outline {
  Ring outer;
  std::vector<Ring> holes;
};

// Note [Exact outlines]
// Outlines run along the edges of pixels, so that filling them gives the very pixels. Where two pixels of a region meet at a
// corner only, the line passes on the side of the pixels outside: as the region's pixels share edges elsewhere, what it leaves
// on the two sides are different rings, and none touches itself. That is what GeoJSON and shapely call valid. Regions that are
// connected over corners alone (Connectivity::kEight) are several outlines.

// The outline of each region, in order. parts: of Connectivity::kFour.
std::vector<Outline> trace_outlines(const Components& parts);

// Outlines without holes that together cover the pixels of runs of one class once: a region with holes is cut along rows of
// pixels. For formats that know no holes. runs: in the order of Components.
std::vector<Ring> outlines_without_holes(Size size, std::vector<Run> runs);

// Twice the area, positive for counter-clockwise.
int64_t doubled_area(const Ring& ring);

}  // namespace tessera
