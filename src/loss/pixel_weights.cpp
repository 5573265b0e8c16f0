#include "loss/pixel_weights.h"

#include <ATen/ATen.h>

#include <cmath>

#include "core/image.h"

namespace tessera {
namespace {

// (N, H, W) booleans: pixels at a boundary, on both sides of it.
at::Tensor boundary_pixels(const at::Tensor& labels) {
  at::Tensor at_boundary = at::zeros_like(labels, at::kBool);
  for (const int64_t dim : {1, 2}) {
    const int64_t pairs = labels.size(dim) - 1;
    if (pairs < 1) continue;
    const at::Tensor one = labels.narrow(dim, 0, pairs), next = labels.narrow(dim, 1, pairs);
    const at::Tensor differ = one.ne(next).logical_and_(one.ne(kIgnoreLabel)).logical_and_(next.ne(kIgnoreLabel));
    at_boundary.narrow(dim, 0, pairs).logical_or_(differ);
    at_boundary.narrow(dim, 1, pairs).logical_or_(differ);
  }
  return at_boundary;
}

// For each place the least of value + offset^2 along a dimension, for offsets up to `reach`.
at::Tensor spread_along(const at::Tensor& values, int64_t dim, int64_t reach) {
  at::Tensor least = values.clone();
  for (int64_t offset = 1; offset <= std::min(reach, values.size(dim) - 1); ++offset) {
    const int64_t count = values.size(dim) - offset;
    const auto add = static_cast<double>(offset * offset);
    at::Tensor ahead = least.narrow(dim, offset, count), behind = least.narrow(dim, 0, count);
    at::minimum_out(ahead, ahead, values.narrow(dim, 0, count) + add);
    at::minimum_out(behind, behind, values.narrow(dim, offset, count) + add);
  }
  return least;
}

}  // namespace

PixelWeights boundary_weights(double boost, double sigma) {
  return [boost, sigma](const at::Tensor& labels) {
    constexpr double kFar = 1e9;
    const auto reach = static_cast<int64_t>(std::floor(3 * sigma));
    // The squared distance is the least over rows of the least over columns: whole numbers, exact in float32.
    const at::Tensor start = at::full(labels.sizes(), kFar, labels.options().dtype(at::kFloat));
    const at::Tensor squares =
        spread_along(spread_along(start.masked_fill(boundary_pixels(labels), 0.0), 2, reach), 1, reach).to(at::kDouble);
    return (squares.mul(-0.5 / (sigma * sigma)).exp_().mul_(boost).masked_fill_(squares.gt(9 * sigma * sigma), 0.0)).add_(1.0);
  };
}

}  // namespace tessera
