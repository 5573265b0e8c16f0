#pragma once
#include <algorithm>
#include <vector>

#include "tensor/step_context.h"

namespace tessera::testing {

// Consecutive batch-norm units of `group` samples that make up a pass of `count`.
inline std::vector<NormSegment> norm_segments(int64_t count, int64_t group) {
  std::vector<NormSegment> segments;
  for (int64_t begin = 0; begin < count; begin += group) {
    const int64_t end = std::min(begin + group, count);
    segments.push_back({.begin = begin, .end = end, .unit = begin / group, .unit_size = end - begin});
  }
  return segments;
}

}  // namespace tessera::testing
