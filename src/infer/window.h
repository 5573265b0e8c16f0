#pragma once
#include <ATen/core/Tensor.h>

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

}  // namespace tessera
