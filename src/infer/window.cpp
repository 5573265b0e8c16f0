#include "infer/window.h"

#include <torch/types.h>

#include <algorithm>

namespace tessera {
namespace {

WindowAxis axis(int64_t length, int64_t window, int64_t stride) {
  const int64_t size = std::min(window, length);
  return {length, size, stride > 0 ? stride : std::max<int64_t>(1, size * 2 / 3)};
}

at::Tensor bell(int64_t length) {
  const at::Tensor at_pixel = at::arange(length, at::kDouble) - (static_cast<double>(length) - 1) / 2;
  const double sigma = static_cast<double>(length) / 8;
  return (at_pixel.square() / (-2 * sigma * sigma)).exp();
}

}  // namespace

bool takes_windows(const WindowConfig& config, int64_t height, int64_t width) {
  return config.size.height > 0 && (height > config.size.height || width > config.size.width);
}

WindowGrid window_grid(int64_t height, int64_t width, const WindowConfig& config) {
  return {axis(height, config.size.height, config.stride.height), axis(width, config.size.width, config.stride.width)};
}

at::Tensor window_weights(const WindowGrid& grid, WindowWeights kind) {
  if (kind == WindowWeights::kFlat) return at::ones({grid.rows.size, grid.columns.size});
  constexpr double kFloor = 1e-3;  // a pixel seen by one window only must still count
  return at::outer(bell(grid.rows.size), bell(grid.columns.size)).clamp_min(kFloor).to(at::kFloat);
}

}  // namespace tessera
