#include "data/transforms/blur.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "data/transforms/pixel_value.h"

namespace tessera {
namespace {

std::vector<float> gaussian(double sigma) {
  const int radius = static_cast<int>(std::ceil(3 * sigma));
  std::vector<float> kernel;
  double sum = 0;
  for (int k = -radius; k <= radius; ++k) sum += std::exp(-0.5 * k * k / (sigma * sigma));
  for (int k = -radius; k <= radius; ++k) kernel.push_back(static_cast<float>(std::exp(-0.5 * k * k / (sigma * sigma)) / sum));
  return kernel;
}

// Each row holds `channels` values per pixel.
template <class T>
void blur_pixels(std::vector<T>& pixels, Size size, int channels, const std::vector<float>& kernel) {
  const int radius = static_cast<int>(kernel.size() / 2);
  const auto stride = static_cast<size_t>(size.width) * static_cast<size_t>(channels);
  std::vector<float> rows(pixels.size());
  for (int y = 0; y < size.height; ++y) {
    const T* in = pixels.data() + static_cast<size_t>(y) * stride;
    float* out = rows.data() + static_cast<size_t>(y) * stride;
    for (int x = 0; x < size.width; ++x) {
      for (int k = -radius; k <= radius; ++k) {
        const T* from = in + std::clamp(x + k, 0, size.width - 1) * channels;
        for (int c = 0; c < channels; ++c) out[x * channels + c] += kernel[k + radius] * static_cast<float>(from[c]);
      }
    }
  }
  std::vector<float> sum(stride);
  for (int y = 0; y < size.height; ++y) {
    std::fill(sum.begin(), sum.end(), 0.0F);
    for (int k = -radius; k <= radius; ++k) {
      const float* from = rows.data() + static_cast<size_t>(std::clamp(y + k, 0, size.height - 1)) * stride;
      for (size_t i = 0; i < stride; ++i) sum[i] += kernel[k + radius] * from[i];
    }
    std::transform(sum.begin(), sum.end(), pixels.begin() + static_cast<ptrdiff_t>(static_cast<size_t>(y) * stride),
                   to_pixel<T>);
  }
}

}  // namespace

void blur_image(Image& image, double sigma) {
  constexpr double kNoEffect = 0.05;  // the neighbours' weight is below 1e-80
  if (sigma < kNoEffect) return;
  const std::vector<float> kernel = gaussian(sigma);
  std::visit([&](auto& pixels) { blur_pixels(pixels, image.size(), image.channels, kernel); }, image.pixels);
}

void Blur::apply(Sample& sample, Rng rng) const {
  if (!rng.chance(config_.probability)) return;
  blur_image(sample.image, rng.uniform(0, config_.max_sigma));
}

}  // namespace tessera
