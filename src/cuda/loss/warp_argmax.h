#pragma once
#include <cstdint>

#include "cuda/common/launch.h"

namespace tessera {

// The class of the largest value over a warp's lanes, the lowest of equal ones; every lane gets it. Lanes without a value have
// minus infinity and class INT32_MAX.
__device__ __forceinline__ int warp_argmax(float value, int found) {
  // Bits whose order is that of the numbers; adding 0 makes one of both zeros.
  const unsigned bits = __float_as_uint(value + 0.0F), key = bits >> 31 != 0 ? ~bits : bits | 0x80000000U;
  const unsigned most = __reduce_max_sync(kAllLanes, key);
  return __reduce_min_sync(kAllLanes, key == most ? found : INT32_MAX);
}
__device__ __forceinline__ int warp_argmax(double value, int found) {
  return __reduce_min_sync(kAllLanes, value == warp_max(value) ? found : INT32_MAX);
}

}  // namespace tessera
