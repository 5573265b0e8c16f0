#pragma once
#include <bit>
#include <cstdint>

#include "kernels/common/simd_math.h"

namespace tessera::TSR_SIMD {

// How a feature is stored and what it is computed in: float and double as themselves, uint16_t holds the bits of a bfloat16.
template <class S>
struct Stored {
  using Work = S;
};
template <>
struct Stored<uint16_t> {
  using Work = float;
};
template <class S>
using Work = typename Stored<S>::Work;

template <class S>
TSR_INLINE Work<S> widen(S x) {
  if constexpr (sizeof(S) == 2) {
    return std::bit_cast<float>(static_cast<uint32_t>(x) << 16);
  } else {
    return x;
  }
}

// To the nearest, ties to even, as torch rounds.
template <class S>
TSR_INLINE S narrow(Work<S> x) {
  if constexpr (sizeof(S) == 2) {
    const auto bits = std::bit_cast<uint32_t>(x);
    const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return static_cast<uint16_t>(x == x ? rounded : 0x7fc0);
  } else {
    return x;
  }
}

}  // namespace tessera::TSR_SIMD
