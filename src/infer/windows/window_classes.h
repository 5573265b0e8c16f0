#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "infer/windows/window_bands.h"

namespace tessera {

// The class of each pixel of a view's part, by the weighted sums of its windows' scores. Where all windows' scores in the
// network's resolution take no more memory than the sums of one row of windows, they are kept and their sums are never stored;
// else sums are made in bands.
class WindowClasses {
 public:
  using BestClass = std::function<at::Tensor(const at::Tensor& scores)>;  // (N, K, rows, W) -> (N, rows, W) int16

  // argmax: of several scores the largest tells the class. Else, and for one score alone, best_class gets averages, not sums.
  WindowClasses(const WindowView& view, WindowWeights weights, bool argmax, BestClass best_class);

  // Scores of the windows from number `first` on, in order: see WindowBands::add.
  void add(int64_t first, const at::Tensor& scores);

  // (N, rows, W) int16 after the last window of the part; undefined where the part is empty.
  at::Tensor result() const;

 private:
  void use_bands(at::Device device);

  WindowView view_;
  at::Tensor weights_;  // of a window, on the CPU
  bool argmax_;
  BestClass best_class_;
  std::vector<at::Tensor> kept_;  // scores, where they are
  std::optional<WindowBands> bands_;
  at::Tensor classes_;  // of the bands
};

}  // namespace tessera
