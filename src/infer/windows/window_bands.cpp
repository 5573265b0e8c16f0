#include "infer/windows/window_bands.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cassert>

#include "kernels/loss/add_windows.h"
#include "tensor/upload.h"

namespace tessera {

at::Tensor WindowSums::average() const {
  return sums / weights;
}

WindowBands::WindowBands(const WindowView& view, at::Tensor weights) : view_(view), weights_(std::move(weights)) {}

void WindowBands::start(const at::Tensor& scores) {
  const WindowGrid& grid = view_.grid;
  const at::ScalarType type = scores.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const int64_t width = grid.columns.last + grid.columns.size;
  weights_ = upload(weights_.to(type), scores.device());
  total_ = at::zeros({grid.rows.size, width}, weights_.options());
  sums_ =
      at::empty({view_.images, scores.size(1), grid.rows.size, width}, weights_.options(), window_sum_layout(scores)).zero_();
}

void WindowBands::add(int64_t first, const at::Tensor& scores) {
  assert(!added_.defined());
  if (!sums_.defined()) start(scores);
  added_ = scores;
  window_ = first;
}

std::optional<WindowSums> WindowBands::next() {
  const WindowAxis& rows = view_.grid.rows;
  while (added_.defined()) {
    const int64_t row = window_ / view_.in_row(), row_end = (row + 1) * view_.in_row();
    make_room();
    add_row(std::min(added_.size(0), row_end - window_));
    if (window_ < row_end) continue;
    for (int column = 0; column < view_.grid.columns.count; ++column) {
      total_.narrow(1, view_.grid.columns.start(column), view_.grid.columns.size).add_(weights_);
    }
    const int y = rows.start(static_cast<int>(row));
    finished_ = (row + 1 == rows.count ? rows.last + rows.size : rows.start(static_cast<int>(row) + 1)) - y;
    if (y < view_.part.y) continue;  // windows of another part reach these rows too
    return WindowSums{y, sums_.narrow(2, 0, finished_), total_.narrow(0, 0, finished_)};
  }
  return std::nullopt;
}

// Adds `count` of the windows, all of one row.
void WindowBands::add_row(int64_t count) {
  std::vector<int64_t> images, lefts;
  for (int64_t i = window_; i < window_ + count; ++i) {
    images.push_back(view_.image_of(i));
    lefts.push_back(view_.left_of(i));
  }
  add_windows(sums_, added_.narrow(0, 0, count), images, lefts, weights_);
  window_ += count;
  added_ = count == added_.size(0) ? at::Tensor() : added_.narrow(0, count, added_.size(0) - count);
}

// Moves what further windows reach to the top, in place of the finished rows.
void WindowBands::make_room() {
  if (finished_ == 0) return;
  for (const auto& [kept, dim] : {std::pair(sums_, 2), std::pair(total_, 0)}) {
    const at::Tensor rest = kept.narrow(dim, finished_, view_.grid.rows.size - finished_).clone();
    kept.narrow(dim, 0, rest.size(dim)).copy_(rest);
    kept.narrow(dim, rest.size(dim), finished_).zero_();
  }
  finished_ = 0;
}

}  // namespace tessera
