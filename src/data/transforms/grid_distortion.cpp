#include "data/transforms/grid_distortion.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tessera {

std::vector<double> distorted_axis(int length, const std::vector<double>& widths) {
  const double total = std::accumulate(widths.begin(), widths.end(), 0.0);
  std::vector<double> edges{0};
  for (const double width : widths) edges.push_back(edges.back() + width / total);
  const auto cells = static_cast<double>(widths.size());
  std::vector<double> source(static_cast<size_t>(length));
  for (int i = 0; i < length; ++i) {
    const double place = length > 1 ? i * cells / (length - 1) : 0;
    const size_t cell = std::min(static_cast<size_t>(place), widths.size() - 1);
    const double at = std::lerp(edges[cell], edges[cell + 1], place - static_cast<double>(cell));
    source[static_cast<size_t>(i)] = at * (length - 1);
  }
  return source;
}

void GridDistortion::apply(Sample& sample, Rng rng) const {
  if (!rng.chance(config_.probability)) return;
  const auto drawn = [&](int length) {
    std::vector<double> widths(static_cast<size_t>(config_.cells));
    for (double& width : widths) width = 1 + rng.uniform(-config_.limit, config_.limit);
    return distorted_axis(length, widths);
  };
  const std::vector<double> rows = drawn(sample.image.height), columns = drawn(sample.image.width);
  const auto source = [&](int y, int x) { return ImagePoint{rows[static_cast<size_t>(y)], columns[static_cast<size_t>(x)]}; };
  warp_sample(sample, source, fill_);
}

}  // namespace tessera
