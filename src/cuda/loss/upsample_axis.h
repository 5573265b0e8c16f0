#pragma once
#include "cuda/common/launch.h"

namespace tessera {

// Bilinear resampling of one axis, by the rule of torch's upsample_bilinear2d. Output o reads input first(o) and the next one.
// The outputs that read the same inputs form a cell: [begin(i), begin(i + 1)) for input i.
struct UpsampleAxis {
  UpsampleAxis(int64_t in_size, int64_t out_size, bool corners)
      : in(static_cast<int>(in_size)), out(static_cast<int>(out_size)), align_corners(corners) {
    scale = !align_corners ? static_cast<double>(in) / out : out > 1 ? static_cast<double>(in - 1) / (out - 1) : 0.0;
    inverse = scale > 0 ? 1 / scale : 0.0;
  }

  __device__ double at(int o) const {
    const double place = align_corners ? scale * o : scale * (o + 0.5) - 0.5;
    return place > 0 ? place : 0;
  }
  __device__ int first(int o) const {
    const int low = static_cast<int>(at(o));
    return low < in ? low : in - 1;
  }
  __device__ int second(int first_input) const { return first_input + 1 < in ? first_input + 1 : first_input; }
  // The weight of the second input; where there is none the first counts whole.
  __device__ double weight(int o, int first_input) const { return first_input + 1 < in ? at(o) - first_input : 0.0; }
  __device__ int begin(int i) const {
    if (i <= 0) return 0;
    if (i >= in || scale == 0) return out;
    const double guess = align_corners ? i * inverse : (i + 0.5) * inverse - 0.5;
    int o = guess < out ? static_cast<int>(guess) : out;
    while (o > 0 && first(o - 1) >= i) --o;  // at most a step or two: the guess is only rounded
    while (o < out && first(o) < i) ++o;
    return o;
  }

  int in, out;
  bool align_corners;
  double scale, inverse;
};

}  // namespace tessera
