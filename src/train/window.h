#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "config/train_config.h"

namespace tessera {

struct WindowCorner {
  int64_t y = 0, x = 0;
};

// Top left corners of windows that cover the image: every `stride` pixels (0: two thirds of the window), the last one
// moved back so that it ends at the border.
std::vector<WindowCorner> window_corners(Size image, Size window, Size stride);

// (1, 1, h, w) weights of a window's pixels: all 1, or a Gaussian with sigma an eighth of the window, at least 1/1000.
at::Tensor window_weights(Size window, WindowWeights kind);

}  // namespace tessera
