#pragma once
#include <vector>

#include "core/error.h"
#include "core/image.h"
#include "data/transforms/pixel_value.h"

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
    pixel[c] = to_pixel<T>(fill[fill.size() == 1 ? 0 : c] * image.max_value);
  }
  return pixel;
}

}  // namespace tessera
