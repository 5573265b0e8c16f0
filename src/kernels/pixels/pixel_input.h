#pragma once
#include <type_traits>

#include "kernels/pixels/pixel_color.h"
#include "kernels/pixels/pixel_mix.h"

namespace tessera {

// The values of images that belong together, kCount of them: an RGB pixel, or for other numbers of channels, whose colours
// change value by value, one value.

// Makes network input of the values. The first is of channel `channel`. color: null where none changes.
template <int kCount, class In, class T, class Scale>
TSR_HOST_DEVICE void normalize_unit(const In* values, int channel, const PixelColor* color, const Scale& scale, T* to) {
  if (color == nullptr) {
    for (int c = 0; c < kCount; ++c) to[c] = scale(static_cast<T>(values[c]), channel + c);
    return;
  }
  float changed[kCount];
  for (int c = 0; c < kCount; ++c) changed[c] = static_cast<float>(values[c]);
  change_color<std::is_same_v<In, uint8_t>, kCount>(changed, *color);
  for (int c = 0; c < kCount; ++c) to[c] = scale(static_cast<T>(changed[c]), channel + c);
}

// The two images that one result is made of.
template <class T>
struct UnitMix {
  bool mixed;
  const PixelColor* color;          // of the image itself, ...
  const PixelColor* partner_color;  // ... and of its partner
  MixedPixels<T> mix;

  // Makes the values at (y, x). partners: not read unless mixed.
  template <int kCount, class In, class Scale>
  TSR_HOST_DEVICE void make(const In* own, const In* partners, int y, int x, int channel, const Scale& scale, T* to) const {
    if (mixed && mix.in_box(y, x)) return normalize_unit<kCount>(partners, channel, partner_color, scale, to);
    normalize_unit<kCount>(own, channel, color, scale, to);
    if (!mixed || mix.own_weight == 1) return;
    T other[kCount];
    normalize_unit<kCount>(partners, channel, partner_color, scale, other);
    for (int c = 0; c < kCount; ++c) to[c] = mix.blend(to[c], other[c]);
  }
};

// The mix of a row of the table of mixes. colors: null where none change.
template <class T>
TSR_HOST_DEVICE UnitMix<T> unit_mix(const PixelMix& row, const PixelColor* colors) {
  const PixelColor* const own = colors == nullptr ? nullptr : colors + static_cast<int64_t>(row.own);
  const PixelColor* const partner = colors == nullptr ? nullptr : colors + static_cast<int64_t>(row.partner);
  return {row.is_mixed(), own, partner, MixedPixels<T>(row)};
}

}  // namespace tessera
