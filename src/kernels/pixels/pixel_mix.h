#pragma once
#include <cstdint>

#include "core/host_device.h"

namespace tessera {

// How one image of network input is made of two, a row of the table a kernel reads: all of them numbers that a double holds
// exactly.
struct PixelMix {
  double own = 0, partner = 0;                      // rows of the images; the same: nothing is mixed
  double own_weight = 1;                            // of `own`, outside the box; the partner has the rest
  double top = 0, left = 0, bottom = 0, right = 0;  // of the box, in pixels

  TSR_HOST_DEVICE bool is_mixed() const { return own != partner; }
};
inline constexpr int64_t kPixelMixNumbers = 7;
static_assert(sizeof(PixelMix) == kPixelMixNumbers * sizeof(double));

// The same with numbers as pixels need them.
template <class T>
struct MixedPixels {
  TSR_HOST_DEVICE explicit MixedPixels(const PixelMix& mix)
      : own_weight(static_cast<T>(mix.own_weight)),
        partner_weight(static_cast<T>(1 - mix.own_weight)),
        top(static_cast<int>(mix.top)),
        left(static_cast<int>(mix.left)),
        bottom(static_cast<int>(mix.bottom)),
        right(static_cast<int>(mix.right)) {}

  TSR_HOST_DEVICE bool in_box(int y, int x) const { return y >= top && y < bottom && x >= left && x < right; }
  TSR_HOST_DEVICE T blend(T own, T partner) const { return own * own_weight + partner * partner_weight; }

  T own_weight, partner_weight;
  int top, left, bottom, right;
};

}  // namespace tessera
