#include "infer/window_bands.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "kernels/loss/add_windows.h"
#include "tensor/upload.h"

namespace tessera {
namespace {

// A view's windows among those of all.
struct Stretch {
  Stretch(const WindowView& v, int64_t at)
      : view(&v),
        in_row(v.images * v.grid.columns.count),
        begin(at),
        end(at + v.grid.rows.count * in_row),
        wanted_begin(v.part.empty() ? at : at + v.part.first * in_row),
        wanted_end(v.part.empty() ? at : at + v.part.end * in_row) {}

  at::Tensor cut(int64_t window) const {
    const int64_t i = window - begin, columns = view->grid.columns.count;
    const int y = view->grid.rows.start(static_cast<int>(i / in_row));
    return view->cut(i % in_row / columns, {y, view->grid.columns.start(static_cast<int>(i % columns))});
  }

  const WindowView* view;
  int64_t in_row, begin, end, wanted_begin, wanted_end;
};

}  // namespace

void each_window_batch(const std::vector<WindowView>& views, int64_t batch, const WindowNetwork& scores) {
  std::vector<Stretch> stretches;
  for (const WindowView& view : views) stretches.emplace_back(view, stretches.empty() ? 0 : stretches.back().end);
  for (int64_t first = 0; first < stretches.back().end; first += batch) {
    const int64_t end = std::min(first + batch, stretches.back().end);
    const auto wanted = [&](const Stretch& s) { return std::max(first, s.wanted_begin) < std::min(end, s.wanted_end); };
    if (std::none_of(stretches.begin(), stretches.end(), wanted)) continue;
    std::vector<at::Tensor> windows;
    for (const Stretch& s : stretches) {
      for (int64_t i = std::max(first, s.begin); i < std::min(end, s.end); ++i) windows.push_back(s.cut(i));
    }
    const at::Tensor all = scores(windows);
    for (const Stretch& s : stretches) {
      if (!wanted(s)) continue;
      const int64_t from = std::max(first, s.wanted_begin), to = std::min(end, s.wanted_end);
      s.view->take(from - s.begin, all.narrow(0, from - first, to - from));
    }
  }
}

WindowBands::WindowBands(int64_t images, const WindowGrid& grid, const WindowPart& part, at::Tensor weights,
                         std::function<void(const WindowSums&)> take)
    : images_(images), grid_(grid), part_(part), take_(std::move(take)), weights_(std::move(weights)) {}

void WindowBands::start(const at::Tensor& scores) {
  const at::ScalarType type = scores.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const int64_t width = grid_.columns.last + grid_.columns.size;
  weights_ = upload(weights_.to(type), scores.device());
  total_ = at::zeros({grid_.rows.size, width}, weights_.options());
  sums_ = at::empty({images_, scores.size(1), grid_.rows.size, width}, weights_.options(), window_sum_layout(scores)).zero_();
}

void WindowBands::add(int64_t first, const at::Tensor& scores) {
  if (!sums_.defined()) start(scores);
  const int64_t in_row = images_ * grid_.columns.count;
  for (int64_t done = 0; done < scores.size(0);) {  // a row of windows at a time
    const int64_t begin = first + done, row = begin / in_row, end = std::min(first + scores.size(0), (row + 1) * in_row);
    std::vector<int64_t> images, lefts;
    for (int64_t i = begin; i < end; ++i) {
      images.push_back(i % in_row / grid_.columns.count);
      lefts.push_back(grid_.columns.start(static_cast<int>(i % grid_.columns.count)));
    }
    add_windows(sums_, scores.narrow(0, done, end - begin), images, lefts, weights_);
    done += end - begin;
    if (end == (row + 1) * in_row) end_row(static_cast<int>(row));
  }
}

void WindowBands::end_row(int row) {
  for (int column = 0; column < grid_.columns.count; ++column) {
    total_.narrow(1, grid_.columns.start(column), grid_.columns.size).add_(weights_);
  }
  const int height = grid_.rows.last + grid_.rows.size, y = grid_.rows.start(row);
  const int64_t ready = (row + 1 == grid_.rows.count ? height : grid_.rows.start(row + 1)) - y;
  if (y >= part_.y) take_({y, sums_.narrow(2, 0, ready), total_.narrow(0, 0, ready)});  // above it windows are missing
  if (row + 1 == part_.end) return;
  for (const auto& [kept, dim] : {std::pair(sums_, 2), std::pair(total_, 0)}) {  // those rows make room
    const at::Tensor rest = kept.narrow(dim, ready, grid_.rows.size - ready).clone();
    kept.narrow(dim, 0, rest.size(dim)).copy_(rest);
    kept.narrow(dim, rest.size(dim), ready).zero_();
  }
}

}  // namespace tessera
