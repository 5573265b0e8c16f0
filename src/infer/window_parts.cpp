#include "infer/window_parts.h"

#include <algorithm>

namespace tessera {
namespace {

int64_t length(const WindowAxis& rows) {
  return int64_t{rows.last} + rows.size;
}

// The first row of pixels that no window above `row` begins in.
int64_t top(const WindowAxis& rows, int row) {
  return row < rows.count ? rows.start(row) : length(rows);
}

// At most `most` rows of windows to each rank. What is left over after the last rank is left out.
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
