#include "data/transforms/gamma.h"

#include <array>
#include <cmath>

#include "core/error.h"
#include "data/transforms/pixel_value.h"

namespace tessera {

void change_gamma(Image& image, double gamma) {
  if (image.is_bytes()) {
    std::array<uint8_t, 256> table{};
    for (size_t v = 0; v < table.size(); ++v) table[v] = to_pixel<uint8_t>(255 * std::pow(static_cast<double>(v) / 255, gamma));
    for (uint8_t& value : image.bytes()) value = table[value];
    return;
  }
  const PixelRange range = pixel_range(image);
  const double length = range.high - range.low;
  if (length <= 0) return;
  for (float& value : image.floats()) {
    value = static_cast<float>(range.low + length * std::pow((value - range.low) / length, gamma));
  }
}

Gamma::Gamma(const GammaConfig& config) : config_(config) {
  TSR_CHECK_USAGE(config.min <= config.max, "gamma: min is {}, larger than max {}; swap them", config.min, config.max);
}

void Gamma::apply(Sample& sample, Rng rng) const {
  if (!rng.chance(config_.probability)) return;
  // Uniform in the logarithm: 0.5 and 2 are as likely as each other.
  change_gamma(sample.image, std::exp(rng.uniform(std::log(config_.min), std::log(config_.max))));
}

}  // namespace tessera
