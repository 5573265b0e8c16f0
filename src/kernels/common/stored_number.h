#pragma once
#include <bit>
#include <cstdint>

#include "core/host_device.h"
#include "kernels/common/simd_math.h"

namespace tessera::TSR_SIMD {

// A feature as it is stored and as it is computed with, Compute<S>: float and double are stored as themselves, uint16_t holds
// the bits of a bfloat16.
template <class S>
TSR_INLINE Compute<S> widen(S x) {
  if constexpr (sizeof(S) == 2) {
    return std::bit_cast<float>(static_cast<uint32_t>(x) << 16);
  } else {
    return x;
  }
}

// Rounds to the nearest, ties to even, as torch does.
template <class S>
TSR_INLINE S narrow(Compute<S> x) {
  if constexpr (sizeof(S) == 2) {
    const auto bits = std::bit_cast<uint32_t>(x);
    const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return static_cast<uint16_t>(x == x ? rounded : 0x7fc0);
  } else {
    return x;
  }
}

}  // namespace tessera::TSR_SIMD
