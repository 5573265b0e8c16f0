#pragma once
#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "infer/windows/window_grid.h"

namespace tessera {

// The windows of images of one size. They are numbered row by row, in a row image by image.
struct WindowView {
  int64_t images = 1;
  WindowGrid grid;
  WindowPart part;  // whose scores are wanted

  int64_t in_row() const { return images * grid.columns.count; }
  int64_t image_of(int64_t window) const { return window % in_row() / grid.columns.count; }
  int left_of(int64_t window) const { return grid.columns.start(static_cast<int>(window % grid.columns.count)); }
  int top_of(int64_t window) const { return grid.rows.start(static_cast<int>(window / in_row())); }
};

// Where a window of a pass is cut from.
struct WindowPlace {
  size_t view = 0;
  int64_t image = 0;
  int64_t y = 0, x = 0;  // its upper left corner
};

// Windows of one view that follow one another, among those of a pass.
struct WantedScores {
  size_t view = 0;
  int64_t first = 0;             // the number of the first of them in the view
  int64_t begin = 0, count = 0;  // which of the pass they are

  at::Tensor of(const at::Tensor& scores) const { return scores.narrow(0, begin, count); }  // scores: of the whole pass
};

struct WindowPass {
  std::vector<WindowPlace> windows;
  std::vector<WantedScores> wanted;
};

// Which windows go through the network together. All have one size, so windows of all views, rows and images share forward
// passes of `batch`, view after view. A pass holds the same windows whatever the parts are; it is left out where no score of
// it is wanted.
class WindowPasses {
 public:
  WindowPasses(std::vector<WindowView> views, int64_t batch);

  std::optional<WindowPass> next();  // nothing at the end

 private:
  // The numbers of a view's windows among those of all views.
  struct Stretch {
    int64_t begin = 0, end = 0;
    int64_t wanted_begin = 0, wanted_end = 0;
  };

  WindowPass pass_of(int64_t first, int64_t end) const;

  std::vector<WindowView> views_;
  std::vector<Stretch> stretches_;
  int64_t batch_;
  int64_t next_ = 0;  // window, of all views
};

}  // namespace tessera
