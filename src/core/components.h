#pragma once
#include <cstdint>
#include <vector>

#include "core/image.h"

namespace tessera {

// Which pixels of one class are neighbours: those that share an edge, or also those that share a corner. With kEight the
// regions, and the order they are numbered in, are those of scikit-image's label() with its defaults (connectivity 2).
enum class Connectivity { kFour, kEight };

// Pixels begin .. end - 1 of row y, all of one region.
struct Run {
  int y = 0;
  int begin = 0;
  int end = 0;
  int32_t region = 0;
};

// A connected region of pixels of one class. The box is half open: rows top .. bottom - 1, columns left .. right - 1.
struct Region {
  int16_t label = 0;
  int64_t area = 0;  // pixels
  int top = 0;
  int left = 0;
  int bottom = 0;
  int right = 0;
};

// The connected regions of a label map, numbered by their first pixel from the top left. Runs lie in order of rows, then
// columns, and cover every pixel but the ignored ones; memory is that of the runs, never a number per pixel of a large map.
struct Components {
  Size size;
  std::vector<Run> runs;
  std::vector<Region> regions;

  // Per pixel the number of its region, -1 where it has none.
  std::vector<int32_t> region_map() const;
};

// The regions of every class; pixels of kIgnoreLabel belong to none. Takes time linear in the pixels.
Components connected_components(const LabelMap& map, Connectivity connectivity = Connectivity::kEight);

// The same for one class: all other pixels belong to no region.
Components connected_components_of(const LabelMap& map, int16_t label, Connectivity connectivity = Connectivity::kEight);

// The regions that runs of one class form, in order of rows and columns as in Components.
Components connect_runs(Size size, std::vector<Run> runs, int16_t label, Connectivity connectivity);

}  // namespace tessera
