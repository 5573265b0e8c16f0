#include "train/window.h"

#include <torch/types.h>

namespace tessera {
namespace {

std::vector<int64_t> starts(int64_t length, int64_t window, int64_t stride) {
  if (stride <= 0) stride = std::max<int64_t>(1, window * 2 / 3);
  std::vector<int64_t> all;
  for (int64_t at = 0; at + window < length; at += stride) all.push_back(at);
  all.push_back(std::max<int64_t>(0, length - window));
  return all;
}

at::Tensor bell(int64_t length) {
  const at::Tensor at_pixel = at::arange(length, at::kDouble) - (static_cast<double>(length) - 1) / 2;
  const double sigma = static_cast<double>(length) / 8;
  return (at_pixel.square() / (-2 * sigma * sigma)).exp();
}

}  // namespace

std::vector<WindowCorner> window_corners(Size image, Size window, Size stride) {
  std::vector<WindowCorner> corners;
  for (const int64_t y : starts(image.height, window.height, stride.height)) {
    for (const int64_t x : starts(image.width, window.width, stride.width)) corners.push_back({y, x});
  }
  return corners;
}

at::Tensor window_weights(Size window, WindowWeights kind) {
  if (kind == WindowWeights::kFlat) return at::ones({1, 1, window.height, window.width});
  constexpr double kFloor = 1e-3;  // a pixel seen by one window only must still count
  const at::Tensor weights = at::outer(bell(window.height), bell(window.width)).clamp_min(kFloor);
  return weights.to(at::kFloat).view({1, 1, window.height, window.width});
}

}  // namespace tessera
