#include "data/transforms/flip.h"

#include <algorithm>

namespace tessera {
namespace {

template <class T>
void mirror_columns(std::vector<T>& values, int height, int width, int unit) {
  for (int y = 0; y < height; ++y) {
    T* row = values.data() + static_cast<ptrdiff_t>(y) * width * unit;
    for (int a = 0, b = width - 1; a < b; ++a, --b) {
      std::swap_ranges(row + static_cast<ptrdiff_t>(a) * unit, row + static_cast<ptrdiff_t>(a + 1) * unit,
                       row + static_cast<ptrdiff_t>(b) * unit);
    }
  }
}

template <class T>
void mirror_rows(std::vector<T>& values, int height, int width, int unit) {
  const ptrdiff_t stride = static_cast<ptrdiff_t>(width) * unit;
  for (int a = 0, b = height - 1; a < b; ++a, --b) {
    std::swap_ranges(values.data() + a * stride, values.data() + (a + 1) * stride, values.data() + b * stride);
  }
}

}  // namespace

void flip_horizontal(Sample& sample) {
  Image& image = sample.image;
  std::visit([&](auto& pixels) { mirror_columns(pixels, image.height, image.width, image.channels); }, image.pixels);
  if (sample.labels) mirror_columns(sample.labels->labels, image.height, image.width, 1);
  sample.placement.x = image.width - sample.placement.x - sample.placement.width;
  sample.placement.flipped = !sample.placement.flipped;
}

void flip_vertical(Sample& sample) {
  Image& image = sample.image;
  std::visit([&](auto& pixels) { mirror_rows(pixels, image.height, image.width, image.channels); }, image.pixels);
  if (sample.labels) mirror_rows(sample.labels->labels, image.height, image.width, 1);
  sample.placement.y = image.height - sample.placement.y - sample.placement.height;
  sample.placement.complete = false;
}

void Flip::apply(Sample& sample, Rng rng) const {
  const bool horizontal = rng.chance(config_.horizontal), vertical = rng.chance(config_.vertical);
  if (horizontal) flip_horizontal(sample);
  if (vertical) flip_vertical(sample);
}

}  // namespace tessera
