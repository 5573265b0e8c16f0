#include "core/outlines.h"

#include <algorithm>

namespace tessera {
namespace {

// Which region a pixel is of, by the runs of its row.
class RegionAt {
 public:
  explicit RegionAt(const Components& parts) : runs_(parts.runs), rows_(static_cast<size_t>(parts.size.height) + 1) {
    for (const Run& run : runs_) ++rows_[static_cast<size_t>(run.y) + 1];
    for (size_t y = 1; y < rows_.size(); ++y) rows_[y] += rows_[y - 1];
  }

  // The run that holds the pixel; the end where none does, also outside the map.
  std::vector<Run>::const_iterator run_at(int x, int y) const {
    if (y < 0 || static_cast<size_t>(y) + 1 >= rows_.size()) return runs_.end();
    const auto begin = runs_.begin() + rows_[static_cast<size_t>(y)], end = runs_.begin() + rows_[static_cast<size_t>(y) + 1];
    const auto after = std::upper_bound(begin, end, x, [](int column, const Run& run) { return column < run.begin; });
    return after != begin && std::prev(after)->end > x ? std::prev(after) : runs_.end();
  }

  bool is_of(int32_t region, int x, int y) const {
    const auto run = run_at(x, y);
    return run != runs_.end() && run->region == region;
  }

 private:
  const std::vector<Run>& runs_;
  std::vector<int64_t> rows_;  // where each row's runs begin
};

// Walks along one ring, with the region on the side of (-dy, dx), beginning upwards at the left end of a run.
class RingWalk {
 public:
  RingWalk(const Components& parts, const RegionAt& pixels, std::vector<bool>& left_ends)
      : parts_(parts), pixels_(pixels), left_ends_(left_ends) {}

  Ring from(const Run& run) {
    const Corner start{run.begin, run.y + 1};
    Corner at = start;
    int dx = 0, dy = -1;
    Ring ring;
    do {
      if (dy < 0) left_ends_[static_cast<size_t>(pixels_.run_at(at.x, at.y - 1) - parts_.runs.begin())] = true;
      at = {at.x + dx, at.y + dy};
      const int side_x = -dy, side_y = dx;
      const auto ahead = [&](int sign) {  // of the two pixels ahead, the one on this side of the line
        const int x = dx + sign * side_x, y = dy + sign * side_y;
        return pixels_.is_of(run.region, at.x - (x < 0 ? 1 : 0), at.y - (y < 0 ? 1 : 0));
      };
      if (ahead(-1)) {  // the region goes on across the line: Note [Exact outlines]
        ring.push_back(at);
        dx = -side_x, dy = -side_y;
      } else if (!ahead(1)) {
        ring.push_back(at);
        dx = side_x, dy = side_y;
      }
    } while (!(at == start && dx == 0 && dy == -1));
    return ring;
  }

 private:
  const Components& parts_;
  const RegionAt& pixels_;
  std::vector<bool>& left_ends_;  // of runs, that lie on a ring already
};

constexpr int16_t kAnyLabel = 0;  // of runs that are all of one class

// Rows of pixels that the ring encloses, half open.
struct Rows {
  int top, bottom;
};

Rows rows_of(const Ring& ring) {
  const auto [top, bottom] =
      std::minmax_element(ring.begin(), ring.end(), [](const Corner& a, const Corner& b) { return a.y < b.y; });
  return {top->y, bottom->y};
}

void add_without_holes(const Components& parts, std::vector<Ring>& rings) {
  std::vector<Outline> outlines = trace_outlines(parts);
  for (size_t i = 0; i < outlines.size(); ++i) {
    if (outlines[i].holes.empty()) {
      rings.push_back(std::move(outlines[i].outer));
      continue;
    }
    // The row that halves the holes, so that many of them are few cuts deep. A hole that ends there is open at its edge.
    std::vector<int> middles;
    for (const Ring& hole : outlines[i].holes) {
      const Rows rows = rows_of(hole);
      middles.push_back((rows.top + rows.bottom + 1) / 2);
    }
    const auto middle = middles.begin() + std::ssize(middles) / 2;
    std::nth_element(middles.begin(), middle, middles.end());
    std::vector<Run> above, below;
    for (const Run& run : parts.runs) {
      if (run.region == static_cast<int32_t>(i)) (run.y < *middle ? above : below).push_back(run);
    }
    for (std::vector<Run>* half : {&above, &below}) {
      add_without_holes(connect_runs(parts.size, std::move(*half), kAnyLabel, Connectivity::kFour), rings);
    }
  }
}

}  // namespace

std::vector<Outline> trace_outlines(const Components& parts) {
  const RegionAt pixels(parts);
  std::vector<bool> left_ends(parts.runs.size());
  std::vector<Outline> outlines(parts.regions.size());
  RingWalk walk(parts, pixels, left_ends);
  for (size_t i = 0; i < parts.runs.size(); ++i) {
    if (left_ends[i]) continue;
    // A region's first run lies on its outer ring; what is left of its runs' ends then lies on holes.
    Outline& outline = outlines[static_cast<size_t>(parts.runs[i].region)];
    Ring ring = walk.from(parts.runs[i]);
    if (outline.outer.empty()) {
      outline.outer = std::move(ring);
    } else {
      outline.holes.push_back(std::move(ring));
    }
  }
  return outlines;
}

std::vector<Ring> outlines_without_holes(Size size, std::vector<Run> runs) {
  std::vector<Ring> rings;
  add_without_holes(connect_runs(size, std::move(runs), kAnyLabel, Connectivity::kFour), rings);
  return rings;
}

int64_t doubled_area(const Ring& ring) {
  int64_t sum = 0;
  for (size_t i = 0; i < ring.size(); ++i) {
    const Corner &a = ring[i], &b = ring[(i + 1) % ring.size()];
    sum += int64_t{a.x} * b.y - int64_t{b.x} * a.y;
  }
  return sum;
}

}  // namespace tessera
