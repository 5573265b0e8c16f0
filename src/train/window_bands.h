#pragma once
#include <ATen/core/Tensor.h>

#include <functional>

#include "train/window.h"

namespace tessera {

// How windows of images become scores.
struct WindowNetwork {
  int64_t images = 1, height = 0, width = 0;
  std::function<at::Tensor(int64_t image, const WindowCorner&, Size)> cut;  // a window, with a first dimension of 1
  std::function<at::Tensor(const at::Tensor& windows)> scores;              // windows -> (B, K, h, w) of the windows' size
};

// Overlapping windows averaged, in bands of rows from top to bottom: take(y, (N, K, rows, W)). A band is handed over when no
// further window reaches it, so memory is that of one row of windows, however high the image is. Windows of all images share
// forward passes.
void average_windows(const WindowNetwork& network, const WindowConfig& config,
                     const std::function<void(int64_t y, const at::Tensor& scores)>& take);

}  // namespace tessera
