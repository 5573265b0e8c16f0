#pragma once
#include <cstdint>

#include "core/host_device.h"

namespace tessera {

// An output of a resampled axis: (1 - weight) * input[first] + weight * input[second].
struct AxisPoint {
  int32_t first, second;
  double weight;
};

struct AxisRange {
  int64_t begin, end;
};

// Bilinear resampling of an axis of `in` pixels to `out`, by the rule of torch's upsample_bilinear2d. Positions are computed in
// double: in float those of a long axis would be off by visible fractions of a pixel.
struct AxisRule {
  TSR_HOST_DEVICE AxisRule(int64_t in_, int64_t out_, bool align_corners) : in(in_), out(out_), shift(align_corners ? 0 : 0.5) {
    if (align_corners) {
      scale = out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0.0;
    } else {
      scale = static_cast<double>(in) / static_cast<double>(out);
    }
  }

  TSR_HOST_DEVICE AxisPoint operator()(int64_t i) const {
    const double place = scale * (static_cast<double>(i) + shift) - shift;
    const double at = place > 0 ? place : 0;
    const int64_t low = static_cast<int64_t>(at) < in - 1 ? static_cast<int64_t>(at) : in - 1;
    const double weight = at - static_cast<double>(low);
    return {static_cast<int32_t>(low), static_cast<int32_t>(low + 1 < in ? low + 1 : in - 1), weight < 1 ? weight : 1};
  }

  // Every output that reads input p lies in this range; a few at its ends may not read it.
  TSR_HOST_DEVICE AxisRange readers(int64_t p) const {
    if (scale == 0) return {0, out};
    const double low = (static_cast<double>(p - 1) + shift) / scale - shift;
    const double high = (static_cast<double>(p + 1) + shift) / scale - shift;
    const double last = static_cast<double>(out - 2);
    return {p == 0 || low < 1 ? 0 : static_cast<int64_t>(low < last ? low : last),
            p == in - 1 || high > last ? out : static_cast<int64_t>(high) + 2};
  }

  int64_t in, out;
  double scale, shift;
};

// The weight that input p has in an output.
template <class T>
TSR_HOST_DEVICE T weight_of(int64_t p, int32_t first, int32_t second, T weight) {
  return (first == p ? T(1) - weight : T(0)) + (second == p ? weight : T(0));
}

}  // namespace tessera
