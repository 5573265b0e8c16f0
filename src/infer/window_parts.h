#pragma once
#include <vector>

#include "kernels/loss/window_axis.h"

namespace tessera {

// Rows of windows, and the rows of pixels whose windows all are among them.
struct WindowPart {
  int first = 0, end = 0;     // rows of windows
  int64_t y = 0, height = 0;  // rows of pixels

  bool empty() const { return height == 0; }
};

// An image's rows of pixels, cut where rows of windows begin and dealt out from top to bottom, so that no rank has more rows of
// windows than it must. Windows over two ranks' pixels are computed by both. The first rank always has something; with more
// ranks than it takes the last ones have nothing.
std::vector<WindowPart> deal_windows(const WindowAxis& rows, int ranks);

// All of it.
WindowPart whole_part(const WindowAxis& rows);

// The part's windows as a grid of their own: that of the image from the first of them to the end of the last.
WindowGrid grid_of_part(const WindowGrid& grid, const WindowPart& part);

}  // namespace tessera
