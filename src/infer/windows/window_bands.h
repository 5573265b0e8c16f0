#pragma once
#include <ATen/core/Tensor.h>

#include <optional>

#include "infer/windows/window_passes.h"

namespace tessera {

// Rows of weighted sums of windows' scores.
struct WindowSums {
  int64_t y;           // of the first row
  at::Tensor sums;     // (N, K, rows, W)
  at::Tensor weights;  // (rows, W): what the windows' weights add up to

  at::Tensor average() const;
};

// The overlapping windows of a view's part added up, in bands of rows from top to bottom. A band is ready when no further
// window reaches it, so memory is that of one row of windows, however high the image is. Does not wait for a GPU.
//
//   bands.add(wanted.first, wanted.of(scores));
//   while (const auto band = bands.next()) ...
class WindowBands {
 public:
  // weights: of a window's pixels, on the CPU.
  WindowBands(const WindowView& view, at::Tensor weights);

  // Scores of the windows from number `first` on, (B, K, h, w), in whatever resolution the network left them: they are
  // upsampled as they are added up. Windows come in order, and all bands of those before must have been taken.
  void add(int64_t first, const at::Tensor& scores);

  // The next band that is ready; nothing before more windows come. It is valid until the next call.
  std::optional<WindowSums> next();

 private:
  void start(const at::Tensor& scores);
  void add_row(int64_t count);
  void make_room();

  WindowView view_;
  at::Tensor weights_;    // of a window
  at::Tensor sums_;       // of the rows that a row of windows touches
  at::Tensor total_;      // of the weights, the same for all images
  at::Tensor added_;      // scores that `next` has still to add up; undefined: none
  int64_t window_ = 0;    // the number of the first of them
  int64_t finished_ = 0;  // rows of `sums_` that no further window reaches
};

}  // namespace tessera
