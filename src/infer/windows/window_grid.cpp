#include "infer/windows/window_grid.h"

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

int64_t length(const WindowAxis& rows) {
  return int64_t{rows.last} + rows.size;
}

// The first row of pixels that no window above `row` begins in.
int64_t top(const WindowAxis& rows, int row) {
  return row < rows.count ? rows.start(row) : length(rows);
}

// Gives each rank at most `most` rows of windows. Rows that are left over after the last rank are left out.
std::vector<WindowPart> deal_at_most(const WindowAxis& rows, int ranks, int most) {
  std::vector<WindowPart> parts;
  for (int begin = 0; std::ssize(parts) < ranks;) {  // rows of windows whose pixels are dealt out
    WindowPart part{.first = begin, .end = begin, .y = top(rows, begin)};
    if (begin < rows.count) {
      part.first = rows.over(rows.start(begin)).begin;
      part.end = std::min(part.first + most, rows.count);
    }
    const int end = std::max(begin, part.end);
    part.height = top(rows, end) - part.y;
    parts.push_back(part);
    begin = end;
  }
  return parts;
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

std::vector<WindowPart> deal_windows(const WindowAxis& rows, int ranks) {
  for (int most = (rows.count + ranks - 1) / ranks;; ++most) {
    std::vector<WindowPart> parts = deal_at_most(rows, ranks, most);
    if (parts.back().y + parts.back().height == length(rows)) return parts;
  }
}

WindowPart whole_part(const WindowAxis& rows) {
  return {0, rows.count, 0, length(rows)};
}

WindowGrid grid_of_part(const WindowGrid& grid, const WindowPart& part) {
  const int64_t begin = grid.rows.start(part.first), end = grid.rows.start(part.end - 1) + int64_t{grid.rows.size};
  return {{end - begin, grid.rows.size, grid.rows.stride}, grid.columns};
}

}  // namespace tessera
