#include "data/transforms/noise.h"

#include <cmath>
#include <numbers>

#include "data/transforms/pixel_value.h"

namespace tessera {
namespace {

// Standard normal numbers two at a time, by Box and Muller, from one word each: an image needs a million of them, and 32 bits
// are ample for what is rounded to a pixel.
class NormalPairs {
 public:
  explicit NormalPairs(Rng rng) : rng_(rng) {}
  float next() {
    if (has_second_) {
      has_second_ = false;
      return second_;
    }
    constexpr float kStep = 0x1.0p-32F;
    const float radius = std::sqrt(-2.0F * std::log((static_cast<float>(rng_.bits()) + 1.0F) * kStep));
    const float angle = 2.0F * std::numbers::pi_v<float> * static_cast<float>(rng_.bits()) * kStep;
    second_ = radius * std::sin(angle);
    has_second_ = true;
    return radius * std::cos(angle);
  }

 private:
  Rng rng_;
  float second_ = 0;
  bool has_second_ = false;
};

}  // namespace

void add_noise(Image& image, double sigma, Rng rng) {
  NormalPairs normals(rng);
  const auto strength = static_cast<float>(sigma);
  std::visit(
      [&]<class T>(std::vector<T>& pixels) {
        for (T& value : pixels) value = to_pixel<T>(static_cast<float>(value) + strength * normals.next());
      },
      image.pixels);
}

void Noise::apply(Sample& sample, Rng rng) const {
  if (!rng.chance(config_.probability)) return;
  const PixelRange range = pixel_range(sample.image);
  add_noise(sample.image, rng.uniform(0, config_.max_sigma) * (range.high - range.low), rng.fork(0));
}

}  // namespace tessera
