#include "infer/window_classes.h"

#include <ATen/ATen.h>

#include <optional>

#include "kernels/common/fused.h"
#include "kernels/loss/windows_argmax.h"
#include "tensor/upload.h"

namespace tessera {
namespace {

// Of the whole grid, so that all ranks go the same way. scores: of any number of windows.
bool keeps_scores(const at::Tensor& scores, const WindowGrid& grid) {
  if (scores.size(1) < 2 || !use_fused(scores)) return false;  // a binary model's class is no argmax
  const int64_t sum_bytes = scores.scalar_type() == at::kDouble ? 8 : 4;
  const int64_t of_window = scores.size(2) * scores.size(3) * scores.element_size();
  return int64_t{grid.rows.count} * grid.columns.count * of_window <=
         int64_t{grid.rows.size} * (grid.columns.last + grid.columns.size) * sum_bytes;
}

}  // namespace

at::Tensor window_classes(WindowView view, const WindowConfig& config, const WindowNetwork& network,
                          const std::function<at::Tensor(const at::Tensor& sums)>& best_class) {
  const WindowGrid& grid = view.grid;
  const WindowPart& part = view.part;
  const at::Tensor weights = window_weights(grid, config.weights);
  std::vector<at::Tensor> kept;
  std::optional<WindowBands> bands;
  at::Tensor classes;
  // Sums and averages have the same class: the weights are positive, and one number for all classes of a pixel.
  const auto take_band = [&](const WindowSums& band) {
    classes.narrow(1, band.y - part.y, band.sums.size(2)).copy_(best_class(band.sums));
  };
  view.take = [&](int64_t first, const at::Tensor& scores) {
    if (!bands && kept.empty() && !keeps_scores(scores, grid)) {
      const int64_t width = grid.columns.last + grid.columns.size;
      classes = at::empty({view.images, part.height, width}, at::TensorOptions(at::kShort).device(scores.device()));
      bands.emplace(view.images, grid, part, weights, take_band);
    }
    bands ? bands->add(first, scores) : kept.push_back(scores);
  };
  each_window_batch({view}, config.batch, network);
  if (bands || part.empty()) return classes;
  const at::Tensor scores = kept.size() == 1 ? kept[0] : at::cat(kept);
  const at::ScalarType type = scores.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor found = windows_argmax(scores, upload(weights.to(type), scores.device()), grid_of_part(grid, part));
  return found.narrow(1, part.y - grid.rows.start(part.first), part.height);
}

}  // namespace tessera
