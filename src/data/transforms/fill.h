#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/error.h"
#include "core/image.h"

namespace tessera {

// What pixels from outside an image get: a share of the image's range, one value or one per channel; empty is 0.
using Fill = std::vector<double>;

// The fill of one pixel as `image` stores it; bytes are rounded.
template <class T>
std::vector<T> fill_pixel(const Fill& fill, const Image& image) {
  const auto channels = static_cast<size_t>(image.channels);
  TSR_CHECK(fill.size() <= 1 || fill.size() == channels, "the fill has {} values, the image {} channels: expected 1 or {}",
            fill.size(), channels, channels);
  std::vector<T> pixel(channels);
  for (size_t c = 0; c < channels && !fill.empty(); ++c) {
    const double value = fill[fill.size() == 1 ? 0 : c] * image.max_value;
    if constexpr (std::is_same_v<T, uint8_t>) {
      pixel[c] = static_cast<uint8_t>(std::lround(std::fmin(std::fmax(value, 0.0), 255.0)));
    } else {
      pixel[c] = static_cast<T>(value);
    }
  }
  return pixel;
}

}  // namespace tessera
