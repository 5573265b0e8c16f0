#include "data/transforms/photometric.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tessera {
namespace {

// Multiplies S and turns H of one RGB pixel. V is the largest channel; it has no upper bound, so float images work too.
void change_hue(float* rgb, double saturation, double hue) {
  const double high = std::max({rgb[0], rgb[1], rgb[2]}), low = std::min({rgb[0], rgb[1], rgb[2]});
  const double chroma = high - low;
  if (chroma <= 0 || high <= 0) return;  // grey has no hue and stays grey
  double sector = 0;
  if (high == rgb[0]) {
    sector = (rgb[1] - rgb[2]) / chroma;
  } else if (high == rgb[1]) {
    sector = 2 + (rgb[2] - rgb[0]) / chroma;
  } else {
    sector = 4 + (rgb[0] - rgb[1]) / chroma;
  }
  sector += hue / 60.0;
  const double s = std::min(1.0, chroma / high * saturation);
  for (int c = 0; c < 3; ++c) {
    double t = std::array{5.0, 3.0, 1.0}[static_cast<size_t>(c)] + sector;
    t -= 6.0 * std::floor(t / 6.0);
    rgb[c] = static_cast<float>(high * (1.0 - s * std::clamp(std::min(t, 4.0 - t), 0.0, 1.0)));
  }
}

template <class T>
void change_pixels(std::vector<T>& pixels, int channels, double range, const ColorChange& change) {
  constexpr bool kBytes = std::is_same_v<T, uint8_t>;
  const auto clip = [](float value) { return kBytes ? std::clamp(value, 0.0F, 255.0F) : value; };
  const auto offset = static_cast<float>(change.brightness * range);
  const auto factor = static_cast<float>(change.contrast);
  const bool colour_steps = channels == 3 && (change.saturation != 1 || change.hue != 0);
  std::array<float, 3> buffer{};
  const size_t unit = colour_steps ? 3 : 1;
  for (size_t at = 0; at < pixels.size(); at += unit) {
    for (size_t c = 0; c < unit; ++c) {
      buffer[c] = clip(static_cast<float>(pixels[at + c]) + offset);
      if (!change.contrast_last) buffer[c] = clip(buffer[c] * factor);
    }
    if (colour_steps) change_hue(buffer.data(), change.saturation, change.hue);
    for (size_t c = 0; c < unit; ++c) {
      if (change.contrast_last) buffer[c] = clip(buffer[c] * factor);
      if constexpr (kBytes) {
        pixels[at + c] = static_cast<uint8_t>(std::lround(buffer[c]));
      } else {
        pixels[at + c] = buffer[c];
      }
    }
  }
}

}  // namespace

void change_colors(Image& image, const ColorChange& change) {
  std::visit([&](auto& pixels) { change_pixels(pixels, image.channels, image.max_value, change); }, image.pixels);
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
  change_colors(sample.image, change);
}

}  // namespace tessera
