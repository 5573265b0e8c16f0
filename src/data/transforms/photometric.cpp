#include "data/transforms/photometric.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "data/simd/pixel_loops.h"
#include "kernels/pixels/pixel_color.h"

namespace tessera {
namespace {

template <bool kBytes, int kCount, class T>
void change_pixels(std::vector<T>& pixels, const PixelColor& color) {
  std::array<float, kCount> values{};
  for (size_t at = 0; at < pixels.size(); at += kCount) {
    std::copy_n(pixels.begin() + static_cast<ptrdiff_t>(at), kCount, values.begin());
    change_color<kBytes, kCount>(values.data(), color);
    for (size_t c = 0; c < kCount; ++c) pixels[at + c] = static_cast<T>(values[c]);
  }
}

}  // namespace

void change_colors(Image& image, const ColorChange& change) {
  const PixelColor color = pixel_color(change, image.max_value);
  if (image.is_bytes() && image.channels == 3 && std::abs(color.sectors) <= kMostSectors) {
    pixel_loops().change_rgb(image.bytes().data(), image.count() / 3, color);
    return;
  }
  std::visit(
      [&]<class T>(std::vector<T>& pixels) {
        constexpr bool kBytes = std::is_same_v<T, uint8_t>;
        if (image.channels == 3 && color.turns()) {
          change_pixels<kBytes, 3>(pixels, color);
        } else {
          change_pixels<kBytes, 1>(pixels, color);
        }
      },
      image.pixels);
}

void Photometric::apply(Sample& sample, Rng rng) const {
  // Every number is drawn whether used or not: switching one step off must not change the others.
  const auto draw = [&](double spread, double neutral) {
    const bool used = rng.chance(config_.probability);
    const double value = neutral + rng.uniform(-spread, spread);
    return used ? value : neutral;
  };
  ColorChange change;
  change.brightness = draw(config_.brightness, 0);
  change.contrast_last = rng.chance(0.5);
  change.contrast = draw(config_.contrast, 1);
  change.saturation = draw(config_.saturation, 1);
  change.hue = draw(config_.hue, 0);
  if (place_ == ColorPlace::kDevice) {
    sample.color = change;
  } else {
    change_colors(sample.image, change);
  }
}

}  // namespace tessera
