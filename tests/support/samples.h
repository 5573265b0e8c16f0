#pragma once
#include "core/rng.h"
#include "data/sample.h"

namespace tessera::testing {

// A sample whose pixel (y, x), channel c, is y * 16 + x * 3 + c (8-bit or float) and whose label is (y + x) % 3.
inline Sample numbered_sample(Size size, int channels = 3, bool floats = false) {
  Sample sample;
  sample.id = "numbered";
  sample.image = Image(size.height, size.width, channels);
  sample.labels = LabelMap(size.height, size.width);
  if (floats) {
    sample.image.pixels = std::vector<float>(sample.image.count());
    sample.image.max_value = 65535;
  }
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      sample.labels->at(y, x) = static_cast<int16_t>((y + x) % 3);
      for (int c = 0; c < channels; ++c) {
        const auto at = static_cast<size_t>((y * size.width + x) * channels + c);
        const int value = (y * 16 + x * 3 + c) % 256;
        if (floats) {
          sample.image.floats()[at] = static_cast<float>(value) * 100;
        } else {
          sample.image.bytes()[at] = static_cast<uint8_t>(value);
        }
      }
    }
  }
  sample.placement = whole_image(size);
  return sample;
}

// The value of a pixel whatever its type.
inline double pixel(const Image& image, int y, int x, int c = 0) {
  const auto at = static_cast<size_t>((y * image.width + x) * image.channels + c);
  return std::visit([&](const auto& pixels) { return static_cast<double>(pixels[at]); }, image.pixels);
}

inline Rng test_rng(uint64_t n = 0) {
  return Rng(7, Stream::kAugment, 0, n);
}

}  // namespace tessera::testing
