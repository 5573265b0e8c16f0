#include "data/transforms/resample_weights.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace tessera {
namespace {

double triangle(double x) {
  return std::max(0.0, 1.0 - std::abs(x));
}

template <class Weight>
Weight stored(double weight) {
  if constexpr (std::is_floating_point_v<Weight>) {
    return static_cast<Weight>(weight);
  } else {
    return static_cast<Weight>(0.5 + weight * (1 << kWeightBits));  // weights are never negative: this rounds to nearest
  }
}

}  // namespace

template <class Weight>
ResizeWeights<Weight> bilinear_weights(int source, int target) {
  return bilinear_weights<Weight>(source, target, 0, target);
}

template <class Weight>
ResizeWeights<Weight> bilinear_weights(int source, int target, int begin, int end) {
  const auto positions = static_cast<size_t>(end - begin);
  const double scale = static_cast<double>(source) / target;
  // Enlarging interpolates between two neighbours; shrinking averages over `scale` pixels to each side.
  const double support = std::max(scale, 1.0);
  ResizeWeights<Weight> out;
  out.taps = static_cast<int>(std::ceil(support)) * 2 + 1;
  out.first.resize(positions);
  out.count.resize(positions);
  out.weights.assign(positions * static_cast<size_t>(out.taps), Weight{0});

  std::vector<double> exact(static_cast<size_t>(out.taps));
  for (int i = 0; i < end - begin; ++i) {
    const double centre = (begin + i + 0.5) * scale;
    const int first = std::max(0, static_cast<int>(centre - support + 0.5));
    const int count = std::min(source, static_cast<int>(centre + support + 0.5)) - first;
    double sum = 0;
    for (int j = 0; j < count; ++j) sum += exact[j] = triangle((first + j - centre + 0.5) * (1.0 / support));
    Weight* to = out.weights.data() + static_cast<size_t>(i) * static_cast<size_t>(out.taps);
    for (int j = 0; j < count; ++j) to[j] = stored<Weight>(sum != 0 ? exact[j] / sum : 0.0);
    out.first[i] = first;
    out.count[i] = count;
  }
  return out;
}

template ResizeWeights<int32_t> bilinear_weights<int32_t>(int, int);
template ResizeWeights<float> bilinear_weights<float>(int, int);
template ResizeWeights<int32_t> bilinear_weights<int32_t>(int, int, int, int);
template ResizeWeights<float> bilinear_weights<float>(int, int, int, int);

}  // namespace tessera
