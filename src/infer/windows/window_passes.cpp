#include "infer/windows/window_passes.h"

#include <algorithm>

namespace tessera {

WindowPasses::WindowPasses(std::vector<WindowView> views, int64_t batch) : views_(std::move(views)), batch_(batch) {
  int64_t begin = 0;
  for (const WindowView& view : views_) {
    Stretch stretch{.begin = begin, .end = begin + view.grid.rows.count * view.in_row()};
    if (!view.part.empty()) {
      stretch.wanted_begin = begin + view.part.first * view.in_row();
      stretch.wanted_end = begin + view.part.end * view.in_row();
    }
    stretches_.push_back(stretch);
    begin = stretch.end;
  }
}

std::optional<WindowPass> WindowPasses::next() {
  while (next_ < stretches_.back().end) {
    const int64_t first = next_, end = std::min(first + batch_, stretches_.back().end);
    next_ = end;
    WindowPass pass = pass_of(first, end);
    if (!pass.wanted.empty()) return pass;
  }
  return std::nullopt;
}

WindowPass WindowPasses::pass_of(int64_t first, int64_t end) const {
  WindowPass pass;
  for (size_t i = 0; i < views_.size(); ++i) {
    const WindowView& view = views_[i];
    const Stretch& stretch = stretches_[i];
    for (int64_t at = std::max(first, stretch.begin); at < std::min(end, stretch.end); ++at) {
      const int64_t window = at - stretch.begin;
      pass.windows.push_back({i, view.image_of(window), view.top_of(window), view.left_of(window)});
    }
    const int64_t from = std::max(first, stretch.wanted_begin), to = std::min(end, stretch.wanted_end);
    if (from < to) pass.wanted.push_back({i, from - stretch.begin, from - first, to - from});
  }
  return pass;
}

}  // namespace tessera
