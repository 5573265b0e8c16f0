#pragma once
#include <algorithm>
#include <cstdint>

#include "data/transforms/resample_weights.h"

namespace tessera {

// The arithmetic of a pixel type: bytes are summed as integers and rounded after each pass, floats stay floats.
template <class T>
struct Arithmetic;
template <>
struct Arithmetic<uint8_t> {
  using Sum = int32_t;
  static constexpr Sum kStart = 1 << (kWeightBits - 1);
  static uint8_t finish(Sum sum) { return static_cast<uint8_t>(std::clamp(sum >> kWeightBits, 0, 255)); }
};
template <>
struct Arithmetic<float> {
  using Sum = float;
  static constexpr Sum kStart = 0;
  static float finish(Sum sum) { return sum; }
};

}  // namespace tessera
