#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "config/train_config.h"
#include "kernels/loss/window_axis.h"

namespace tessera {

// Whether an image is cut into windows.
bool takes_windows(const WindowConfig& config, int64_t height, int64_t width);

// Windows that cover an image: every `stride` pixels (0: two thirds of the window), the last ones moved back so that they end
// at the border. An image that is smaller than a window is the window.
WindowGrid window_grid(int64_t height, int64_t width, const WindowConfig& config);

// (h, w) weights of a window's pixels: all 1, or a Gaussian with sigma an eighth of the window, at least 1/1000.
at::Tensor window_weights(const WindowGrid& grid, WindowWeights kind);

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

// The part that holds every row of windows.
WindowPart whole_part(const WindowAxis& rows);

// The part's windows as a grid of their own: that of the image from the first of them to the end of the last.
WindowGrid grid_of_part(const WindowGrid& grid, const WindowPart& part);

}  // namespace tessera
