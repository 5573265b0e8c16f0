#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "infer/window.h"
#include "infer/window_parts.h"

namespace tessera {

struct WindowCorner {
  int64_t y = 0, x = 0;
};

// Windows of images of one size.
struct WindowView {
  int64_t images = 1;
  WindowGrid grid;
  WindowPart part;                                                    // whose scores are wanted
  std::function<at::Tensor(int64_t image, const WindowCorner&)> cut;  // a window, with a first dimension of 1
  std::function<void(int64_t first, const at::Tensor& scores)> take;  // given the number of the first of some windows
};

// Windows -> (B, K, h, w) in whatever resolution the network left them: they are upsampled as they are added up.
using WindowNetwork = std::function<at::Tensor(const std::vector<at::Tensor>& windows)>;

// Forward passes of `batch` windows, all of one size: view by view, in a view row by row, in a row image by image. Windows of
// all views, rows and images share them. A pass holds the same windows whatever the parts are; it is left out where nothing of
// it is wanted, and what is not is not handed to `take`.
void each_window_batch(const std::vector<WindowView>& views, int64_t batch, const WindowNetwork& scores);

// Rows of weighted sums of windows' scores. It is valid until the function that is given it returns.
struct WindowSums {
  int64_t y;           // of the first row
  at::Tensor sums;     // (N, K, rows, W)
  at::Tensor weights;  // (rows, W): what the windows' weights add up to

  at::Tensor average() const { return sums / weights; }
};

// A part's overlapping windows added up, in bands of rows from top to bottom. A band is handed over when no further window
// reaches it, so memory is that of one row of windows, however high the image is. Does not wait for a GPU.
class WindowBands {
 public:
  // weights: of a window's pixels, on the CPU.
  WindowBands(int64_t images, const WindowGrid& grid, const WindowPart& part, at::Tensor weights,
              std::function<void(const WindowSums&)> take);

  // As each_window_batch gives them.
  void add(int64_t first, const at::Tensor& scores);

 private:
  void start(const at::Tensor& scores);
  void end_row(int row);

  int64_t images_;
  WindowGrid grid_;
  WindowPart part_;
  std::function<void(const WindowSums&)> take_;
  at::Tensor weights_;  // of a window
  at::Tensor sums_;     // of the rows that a row of windows touches
  at::Tensor total_;    // of the weights, the same for all images
};

}  // namespace tessera
