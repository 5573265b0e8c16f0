#include "infer/windows/window_classes.h"

#include <ATen/ATen.h>

#include "kernels/common/fused.h"
#include "kernels/loss/windows_argmax.h"
#include "tensor/upload.h"

namespace tessera {
namespace {

// Decided from the whole grid, so that all ranks decide alike. scores: of any number of windows.
bool keeps_scores(const at::Tensor& scores, const WindowGrid& grid) {
  if (scores.size(1) < 2 || !use_fused(scores)) return false;  // a binary model's class is no argmax
  const int64_t sum_bytes = scores.scalar_type() == at::kDouble ? 8 : 4;
  const int64_t of_window = scores.size(2) * scores.size(3) * scores.element_size();
  return int64_t{grid.rows.count} * grid.columns.count * of_window <=
         int64_t{grid.rows.size} * (grid.columns.last + grid.columns.size) * sum_bytes;
}

}  // namespace

WindowClasses::WindowClasses(const WindowView& view, WindowWeights weights, bool argmax, BestClass best_class, RowSink sink)
    : view_(view),
      weights_(window_weights(view.grid, weights)),
      argmax_(argmax),
      best_class_(std::move(best_class)),
      sink_(std::move(sink)) {}

void WindowClasses::add(int64_t first, const at::Tensor& scores) {
  const bool is_first = !bands_ && kept_.empty();
  if (is_first && !(argmax_ && keeps_scores(scores, view_.grid))) use_bands(scores.device());
  if (!bands_) {
    kept_.push_back(scores);
    return;
  }
  bands_->add(first, scores);
  while (const std::optional<WindowSums> band = bands_->next()) {
    // Sums and averages have the same largest score: the weights are positive, and one number for all classes of a pixel.
    const bool largest = argmax_ && band->sums.size(1) > 1;
    const at::Tensor found = best_class_(largest ? band->sums : band->average());
    if (sink_) {
      sink_(band->y, found[0]);
    } else {
      classes_.narrow(1, band->y - view_.part.y, found.size(1)).copy_(found);
    }
  }
}

void WindowClasses::use_bands(at::Device device) {
  const int64_t width = view_.grid.columns.last + view_.grid.columns.size;
  if (!sink_) classes_ = at::empty({view_.images, view_.part.height, width}, at::TensorOptions(at::kShort).device(device));
  bands_.emplace(view_, weights_);
}

at::Tensor WindowClasses::result() {
  if (bands_ || view_.part.empty()) return classes_;
  const at::Tensor found = kept_classes();
  if (!sink_) return found;
  sink_(view_.part.y, found[0]);
  return {};
}

at::Tensor WindowClasses::kept_classes() const {
  const at::Tensor scores = kept_.size() == 1 ? kept_[0] : at::cat(kept_);
  const at::ScalarType type = scores.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor weights = upload(weights_.to(type), scores.device());
  const at::Tensor found = windows_argmax(scores, weights, grid_of_part(view_.grid, view_.part));
  return found.narrow(1, view_.part.y - view_.grid.rows.start(view_.part.first), view_.part.height);
}

}  // namespace tessera
