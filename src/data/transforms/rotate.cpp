#include "data/transforms/rotate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "data/transforms/warp.h"

namespace tessera {
namespace {

// Where pixel (y, x) of the turned image comes from.
class TurnedPoint {
 public:
  TurnedPoint(Size size, double degrees)
      : cy_((size.height - 1) / 2.0),
        cx_((size.width - 1) / 2.0),
        cos_(std::cos(degrees * std::numbers::pi / 180)),
        sin_(std::sin(degrees * std::numbers::pi / 180)) {}
  ImagePoint operator()(int y, int x) const {
    return {cy_ + (x - cx_) * sin_ + (y - cy_) * cos_, cx_ + (x - cx_) * cos_ - (y - cy_) * sin_};
  }

 private:
  double cy_, cx_, cos_, sin_;
};

template <class T>
std::vector<T> turn_values(const std::vector<T>& from, Size old, int unit, int quarters) {
  std::vector<T> result(from.size());
  const int width = quarters % 2 == 0 ? old.width : old.height;
  for (int y = 0; y < old.height; ++y) {
    for (int x = 0; x < old.width; ++x) {
      int ty = y, tx = x;
      if (quarters == 1) ty = old.width - 1 - x, tx = y;
      if (quarters == 2) ty = old.height - 1 - y, tx = old.width - 1 - x;
      if (quarters == 3) ty = x, tx = old.height - 1 - y;
      std::copy_n(from.data() + (static_cast<ptrdiff_t>(y) * old.width + x) * unit, unit,
                  result.data() + (static_cast<ptrdiff_t>(ty) * width + tx) * unit);
    }
  }
  return result;
}

}  // namespace

void rotate_sample(Sample& sample, double degrees, const Fill& fill) {
  warp_sample(sample, TurnedPoint(sample.image.size(), degrees), fill);
}

void turn_quarters(Sample& sample, int quarters) {
  if (quarters == 0) return;
  Image& image = sample.image;
  const Size old = image.size();
  const Size turned = quarters % 2 == 0 ? old : Size{old.width, old.height};
  std::visit([&](auto& pixels) { pixels = turn_values(pixels, old, image.channels, quarters); }, image.pixels);
  image.height = turned.height;
  image.width = turned.width;
  if (sample.labels) {
    sample.labels->labels = turn_values(sample.labels->labels, old, 1, quarters);
    sample.labels->height = turned.height;
    sample.labels->width = turned.width;
  }
  sample.placement.complete = false;
}

void Rotate::apply(Sample& sample, Rng rng) const {
  if (!rng.chance(config_.probability)) return;
  if (config_.quarter_turns) {
    turn_quarters(sample, static_cast<int>(rng.below(4)));
  } else {
    rotate_sample(sample, rng.uniform(-config_.degrees, config_.degrees), fill_);
  }
}

}  // namespace tessera
