#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "core/image.h"

namespace tessera {

// A computed value as an image stores it: bytes are rounded and kept within 0..255, deeper images have no fixed range.
template <class T>
T to_pixel(double value) {
  if constexpr (std::is_same_v<T, uint8_t>) return static_cast<uint8_t>(std::lround(std::clamp(value, 0.0, 255.0)));
  return static_cast<T>(value);
}

struct PixelRange {
  double low = 0;
  double high = 0;
};

// The range that changes of brightness are measured by: 0..255 of bytes. Deeper images rarely fill the range of their type (a
// camera of 12 bits, floats of any unit), so theirs is from their own darkest to their own brightest value.
inline PixelRange pixel_range(const Image& image) {
  if (image.is_bytes()) return {0, 255};
  if (image.floats().empty()) return {};
  const auto [low, high] = std::minmax_element(image.floats().begin(), image.floats().end());
  return {*low, *high};
}

}  // namespace tessera
