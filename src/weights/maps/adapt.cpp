#include "weights/maps/adapt.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>

#include <cmath>

namespace tessera {
namespace {

// The side of a square of `cells`, or 0.
int64_t side_of(int64_t cells) {
  const auto side = static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(cells))));
  return cells > 0 && side * side == cells ? side : 0;
}

}  // namespace

at::Tensor adapt_in_channels(const at::Tensor& weight, int64_t channels) {
  const int64_t old = weight.size(1);
  if (channels == 1) return weight.sum(1, /*keepdim=*/true);
  return weight.index_select(1, at::arange(channels).remainder(old)) *
         (static_cast<double>(old) / static_cast<double>(channels));
}

std::optional<at::Tensor> resize_positions(const at::Tensor& positions, int64_t tokens, std::array<int64_t, 2> grid,
                                           PositionFit fit) {
  if (positions.dim() != 3 || positions.size(0) != 1) return std::nullopt;
  // One class token is the rule, two for distilled models, none for pooled ones; at most one choice gives a square. (Old grids
  // are square in all published weights.)
  int64_t old_prefix = -1;
  for (const int64_t count : {1, 2, 0}) {
    if (old_prefix < 0 && side_of(positions.size(1) - count) > 0) old_prefix = count;
  }
  if (old_prefix < 0) return std::nullopt;
  int64_t prefix = -1;
  for (const int64_t count : {old_prefix, int64_t{1}, int64_t{2}, int64_t{0}}) {
    const bool fits = grid[0] > 0 ? grid[0] * grid[1] == tokens - count : side_of(tokens - count) > 0;
    if (prefix < 0 && fits) prefix = count;
  }
  if (prefix < 0 || prefix > old_prefix) return std::nullopt;
  if (grid[0] == 0) grid[0] = grid[1] = side_of(tokens - prefix);

  const int64_t old_side = side_of(positions.size(1) - old_prefix), width = positions.size(2);
  const at::Tensor image =
      positions.slice(1, old_prefix).to(at::kFloat).reshape({1, old_side, old_side, width}).permute({0, 3, 1, 2}).contiguous();
  at::Tensor resized = image;
  if (grid[0] != old_side || grid[1] != old_side) resized = resize_grid(image, grid, fit);
  const at::Tensor cells = resized.permute({0, 2, 3, 1}).reshape({1, grid[0] * grid[1], width});
  return at::cat({positions.slice(1, 0, prefix).to(at::kFloat), cells}, 1);
}

}  // namespace tessera
