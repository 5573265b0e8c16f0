#pragma once
#include <ATen/core/Tensor.h>

#include <functional>

#include "train/window.h"

namespace tessera {

// How windows of images become scores.
struct WindowNetwork {
  int64_t images = 1, height = 0, width = 0;
  std::function<at::Tensor(int64_t image, const WindowCorner&, Size)> cut;  // a window, with a first dimension of 1
  // Windows -> (B, K, h, w) in whatever resolution the network left them: they are upsampled as they are added up.
  std::function<at::Tensor(const std::vector<at::Tensor>& windows)> scores;
};

// Rows of weighted sums of windows' scores. It is valid until the function that is given it returns.
struct WindowSums {
  int64_t y;           // of the first row
  at::Tensor sums;     // (N, K, rows, W)
  at::Tensor weights;  // (rows, W): what the windows' weights add up to

  at::Tensor average() const { return sums / weights; }
};

// Overlapping windows added up, in bands of rows from top to bottom. A band is handed over when no further window reaches it,
// so memory is that of one row of windows, however high the image is. Windows of all images share forward passes. Does not
// wait for a GPU.
void add_up_windows(const WindowNetwork& network, const WindowConfig& config,
                    const std::function<void(const WindowSums&)>& take);

}  // namespace tessera
