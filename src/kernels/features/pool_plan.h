#pragma once
#include <cstdint>

#include "core/host_device.h"

// Note [Cells of a pool]
// The bins of adaptive pooling (bin i of b over `size` pixels: floor(i * size / b) to ceil((i + 1) * size / b), as torch's) may
// overlap, and those of several grids lie across one another. Cut at the borders of all bins, an axis falls into cells that
// every bin holds whole or not at all. So one pass over the input sums its cells, and all grids are sums of few cells;
// backward, a cell's gradient is found once and written to its pixels. Long cells are cut further: more of them can be summed
// at a time.

namespace tessera {

inline constexpr int kMostCells = 64, kMostBins = 16, kMostGrids = 8;

// One axis; plain numbers, so that kernels take it as an argument. Bins of all grids stand one grid after another.
struct PoolAxis {
  int cells = 0, bins = 0;
  int border[kMostCells + 1] = {};                 // cell c is [border[c], border[c + 1])
  int begin[kMostBins] = {}, end[kMostBins] = {};  // cells of a bin

  TSR_HOST_DEVICE int pixels(int bin) const { return border[end[bin]] - border[begin[bin]]; }
  TSR_HOST_DEVICE bool holds(int bin, int cell) const { return begin[bin] <= cell && cell < end[bin]; }
};

struct PoolPlan {
  PoolAxis rows, columns;
  int grids = 0;
  int bins[kMostGrids] = {}, first[kMostGrids] = {};  // per axis: how many, and where they start among all bins
};

// Whether these grids have a plan: positive numbers that fit its tables.
template <class Bins>
bool has_pool_plan(const Bins& bins) {
  int64_t total = 0;
  for (const int64_t b : bins) {
    if (b < 1 || b > kMostBins) return false;
    total += b;
  }
  return !bins.empty() && bins.size() <= kMostGrids && total <= kMostBins;
}

template <class Bins>
PoolAxis pool_axis(int64_t size, const Bins& bins) {
  const auto first_pixel = [&](int64_t b, int64_t i) { return i * size / b; };
  const auto last_pixel = [&](int64_t b, int64_t i) { return ((i + 1) * size + b - 1) / b; };
  constexpr int64_t kLongest = 8, kMostCuts = kMostCells - 2 * kMostBins;
  const int64_t longest = size > kLongest * kMostCuts ? (size + kMostCuts - 1) / kMostCuts : kLongest;
  PoolAxis axis;
  for (int64_t at = 0; at < size;) {
    axis.border[axis.cells++] = static_cast<int>(at);
    // The next border of a bin, or the next cut.
    int64_t next = (at / longest + 1) * longest < size ? (at / longest + 1) * longest : size;
    for (const int64_t b : bins) {
      for (int64_t i = 0; i < b; ++i) {
        for (const int64_t edge : {first_pixel(b, i), last_pixel(b, i)}) next = edge > at && edge < next ? edge : next;
      }
    }
    at = next;
  }
  axis.border[axis.cells] = static_cast<int>(size);
  for (const int64_t b : bins) {
    for (int64_t i = 0; i < b; ++i, ++axis.bins) {
      int& begin = axis.begin[axis.bins];
      int& end = axis.end[axis.bins];
      while (axis.border[begin] < first_pixel(b, i)) ++begin;
      for (end = begin; axis.border[end] < last_pixel(b, i);) ++end;
    }
  }
  return axis;
}

template <class Bins>
PoolPlan pool_plan(int64_t height, int64_t width, const Bins& bins) {
  PoolPlan plan;
  plan.rows = pool_axis(height, bins);
  plan.columns = pool_axis(width, bins);
  for (const int64_t b : bins) {
    plan.first[plan.grids] = plan.grids == 0 ? 0 : plan.first[plan.grids - 1] + plan.bins[plan.grids - 1];
    plan.bins[plan.grids++] = static_cast<int>(b);
  }
  return plan;
}

}  // namespace tessera
