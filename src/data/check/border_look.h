#pragma once
#include <cstdint>
#include <vector>

#include "data/decode/mask.h"

namespace tessera {

// How the values of a mask lie along its borders: do they look drawn, or computed?
struct BorderLook {
  int64_t borders = 0;   // places where one area ends and another begins, on the rows and columns looked at
  int64_t ramps = 0;     // of these, where a few pixels in between step from one value to the other
  int64_t specks = 0;    // pixels of values that hardly occur, unlike all four neighbours
  int64_t distinct = 0;  // values
  // Values between two classes along borders, several of them between the same two: a mask that was resized as a photo is. A
  // class that is a thin rim between two others is always the same value there, and no ramp.
  bool interpolated = false;
  // Many values strewn about as specks: what JPEG leaves around edges.
  bool noisy = false;

  bool computed() const { return interpolated || noisy; }
};

BorderLook look_at_borders(const RawMask& mask);

// The pixels that make a mask look so, for pictures: those of lines too short to be an area, along the row or the column.
std::vector<bool> computed_pixels(const RawMask& mask);

}  // namespace tessera
