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

void flip_horizontal(Placement& placement, int width) {
  placement.x = width - placement.x - placement.width;
  placement.flipped = !placement.flipped;
}

void flip_vertical(Placement& placement, int height) {
  placement.y = height - placement.y - placement.height;
  placement.complete = false;
}

void flip_horizontal(Sample& sample) {
  Image& image = sample.image;
  std::visit([&](auto& pixels) { mirror_columns(pixels, image.height, image.width, image.channels); }, image.pixels);
  if (sample.labels) mirror_columns(sample.labels->labels, image.height, image.width, 1);
  flip_horizontal(sample.placement, image.width);
}

void flip_vertical(Sample& sample) {
  Image& image = sample.image;
  std::visit([&](auto& pixels) { mirror_rows(pixels, image.height, image.width, image.channels); }, image.pixels);
  if (sample.labels) mirror_rows(sample.labels->labels, image.height, image.width, 1);
  flip_vertical(sample.placement, image.height);
}

void Flip::move(Canvas& canvas, Rng rng) const {
  const bool horizontal = rng.chance(config_.horizontal), vertical = rng.chance(config_.vertical);
  if (horizontal) canvas.flip_horizontal();
  if (vertical) canvas.flip_vertical();
}

}  // namespace tessera
