#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "infer/windows/window_bands.h"

namespace tessera {

// Takes the classes of rows y, y + 1, ... of an image: (rows, W) int16, on the device.
using RowSink = std::function<void(int64_t y, const at::Tensor& rows)>;

// The class of each pixel of a view's part, by the weighted sums of its windows' scores. Where all windows' scores in the
// network's resolution take no more memory than the sums of one row of windows, they are kept and their sums are never stored;
// else sums are made in bands.
class WindowClasses {
 public:
  using BestClass = std::function<at::Tensor(const at::Tensor& scores)>;  // (N, K, rows, W) -> (N, rows, W) int16

  // argmax: of several scores the largest tells the class. Else, and for one score alone, best_class gets averages, not sums.
  // sink: takes the rows of one image as they are ready, instead of `result`, so that no map is kept here.
  WindowClasses(const WindowView& view, WindowWeights weights, bool argmax, BestClass best_class, RowSink sink = {});

  // Scores of the windows from number `first` on, in order: see WindowBands::add.
  void add(int64_t first, const at::Tensor& scores);

  // (N, rows, W) int16 after the last window of the part; undefined where the part is empty or a sink has it.
  at::Tensor result();

 private:
  void use_bands(at::Device device);
  at::Tensor kept_classes() const;

  WindowView view_;
  at::Tensor weights_;  // of a window, on the CPU
  bool argmax_;
  BestClass best_class_;
  RowSink sink_;
  std::vector<at::Tensor> kept_;  // scores, where they are
  std::optional<WindowBands> bands_;
  at::Tensor classes_;  // of the bands
};

}  // namespace tessera
