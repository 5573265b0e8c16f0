#pragma once
#include "kernels/loss/cells.h"

namespace tessera::TSR_SIMD {

// The logits of `pixels` (at most L) pixels from (y, x) on, as (classes, L) numbers; lanes past the end repeat the last pixel.
// Returns the largest of each pixel.
template <class T, int L>
TSR_INLINE V<T, L> load_block(const Band<T>& band, int64_t y, int64_t x, int64_t pixels, T* tile) {
  const int64_t offset = y * band.stride_y + x * band.stride_x;
  V<T, L> most = V<T, L>{} + kNoClass<T>;
  const bool side_by_side =
      band.stride_x == 1 && pixels == L && band.type == (sizeof(T) == 4 ? LogitType::kFloat : LogitType::kDouble);
  for (int64_t c = 0; c < band.classes; ++c) {
    if (side_by_side) {
      store<T, L>(tile + c * L, load<T, L>(static_cast<const T*>(band.logits) + offset + c * band.stride_class));
    } else {
      for (int64_t p = 0; p < L; ++p) {
        tile[c * L + p] = logit_at(band, offset + (p < pixels ? p : pixels - 1) * band.stride_x + c * band.stride_class);
      }
    }
    most = larger(most, load<T, L>(tile + c * L));
  }
  return most;
}

}  // namespace tessera::TSR_SIMD
