#include "infer/prediction_memory.h"

#include <algorithm>

#include "infer/windows/views.h"
#include "infer/windows/window_grid.h"
#include "tensor/cpu_allocator.h"

namespace tessera {

// It takes the difference of two sizes, as weights that are cast or packed for the first pass do not grow with the image.
std::optional<NetworkMemory> NetworkMemory::measure(const std::function<at::Tensor(int64_t)>& network, int64_t channels,
                                                    int64_t least_side, int64_t element) {
  NetworkMemory memory{.channels = channels, .element = element};
  const int64_t side = std::max<int64_t>(64, least_side);
  const auto bytes_at = [&](int64_t length) { return cpu_memory_of([&] { memory.classes = network(length).size(1); }); };
  bytes_at(side);  // packs the weights
  const auto small = bytes_at(side), large = bytes_at(2 * side);
  if (!small || !large) return std::nullopt;
  const auto more = static_cast<double>(*large) - static_cast<double>(*small);
  memory.bytes_per_pixel = std::max(0.0, more / static_cast<double>(3 * side * side));
  return memory;
}

PredictionBytes prediction_bytes(const NetworkMemory& memory, const EvalConfig& eval, int64_t count, int64_t height,
                                 int64_t width) {
  constexpr int64_t kScore = 4;  // bytes; there are those of the view and the sum
  const std::vector<View> views = views_of(eval, height, width);
  const auto pixels = [](int64_t h, int64_t w) { return static_cast<double>(h) * static_cast<double>(w); };
  PredictionBytes most;
  for (const View& view : views) {
    const double own = static_cast<double>(count) * pixels(view.height, view.width);
    const bool windowed = takes_windows(eval.window, view.height, view.width);
    // Windows at scale 1 are cut from the image as it is and added up in bands; else a view is held whole, with its scores.
    const bool whole = views.size() > 1 || view.scale != 1;
    PredictionBytes bytes{.scale = view.scale};
    if (whole) bytes.beside = own * static_cast<double>(memory.element * memory.channels + 2 * kScore * memory.classes);
    const int64_t views_in_pass =
        std::min<int64_t>(std::max(count, eval.batch_size), count * static_cast<int64_t>(views.size()));
    const WindowGrid grid = window_grid(view.height, view.width, eval.window);
    const double in_pass = windowed ? static_cast<double>(eval.window.batch) * pixels(grid.rows.size, grid.columns.size)
                                    : static_cast<double>(views_in_pass) * pixels(view.height, view.width);
    bytes.network = in_pass * (memory.bytes_per_pixel + static_cast<double>(memory.element * memory.channels));
    if (bytes.all() > most.all()) most = bytes;
  }
  return most;
}

}  // namespace tessera
