#include "report/decimate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tessera {
namespace {

constexpr size_t kNone = std::numeric_limits<size_t>::max();

void keep_extremes(std::span<const double> values, size_t begin, size_t end, std::vector<size_t>& kept) {
  size_t low = kNone;
  size_t high = kNone;
  size_t gap = kNone;
  for (size_t i = begin; i < end; ++i) {
    if (!std::isfinite(values[i])) {
      if (gap == kNone) gap = i;
      continue;
    }
    if (low == kNone || values[i] < values[low]) low = i;
    if (high == kNone || values[i] > values[high]) high = i;
  }
  std::vector<size_t> found{low, high, gap};
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::copy_if(found.begin(), found.end(), std::back_inserter(kept), [](size_t i) { return i != kNone; });
}

}  // namespace

std::vector<size_t> decimate(std::span<const double> values, size_t limit) {
  limit = std::max<size_t>(limit, 8);
  std::vector<size_t> kept;
  if (values.size() <= limit) {
    kept.resize(values.size());
    std::iota(kept.begin(), kept.end(), size_t{0});
    return kept;
  }
  const bool has_gaps = std::any_of(values.begin(), values.end(), [](double v) { return !std::isfinite(v); });
  const size_t inner = values.size() - 2;
  const size_t stretches = (limit - 2) / (has_gaps ? 3 : 2);
  kept.push_back(0);
  for (size_t s = 0; s < stretches; ++s) {
    keep_extremes(values, 1 + inner * s / stretches, 1 + inner * (s + 1) / stretches, kept);
  }
  kept.push_back(values.size() - 1);
  return kept;
}

std::vector<double> smooth(std::span<const double> values, double window) {
  // Each side is a geometric series that sums to (window + 1) / 2, the value itself being in both.
  const double keep = 1.0 - 2.0 / (std::max(window, 1.0) + 1.0);
  std::vector<double> sums(values.size(), 0.0);
  std::vector<double> weights(values.size(), 0.0);
  const auto sweep = [&](auto index_of) {
    double sum = 0;
    double weight = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t at = index_of(i);
      if (!std::isfinite(values[at])) continue;
      sum = keep * sum + values[at];
      weight = keep * weight + 1;
      sums[at] += sum;
      weights[at] += weight;
    }
  };
  sweep([](size_t i) { return i; });
  sweep([n = values.size()](size_t i) { return n - 1 - i; });
  std::vector<double> result(values.size(), std::numeric_limits<double>::quiet_NaN());
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) result[i] = (sums[i] - values[i]) / (weights[i] - 1);
  }
  return result;
}

}  // namespace tessera
