#include "data/datasets/value_noise.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

double smooth(double t) {
  return t * t * (3.0 - 2.0 * t);
}

void add_octave(Field& field, double cell, double strength, Rng rng) {
  const int rows = static_cast<int>(field.height / cell) + 2, columns = static_cast<int>(field.width / cell) + 2;
  Field grid({rows, columns});
  for (float& value : grid.values) value = static_cast<float>(rng.uniform(-1, 1));
  for (int y = 0; y < field.height; ++y) {
    const int gy = static_cast<int>(y / cell);
    const double ty = smooth(y / cell - gy);
    for (int x = 0; x < field.width; ++x) {
      const int gx = static_cast<int>(x / cell);
      const double tx = smooth(x / cell - gx);
      const double top = std::lerp(grid.at(gy, gx), grid.at(gy, gx + 1), tx);
      const double bottom = std::lerp(grid.at(gy + 1, gx), grid.at(gy + 1, gx + 1), tx);
      field.at(y, x) += static_cast<float>(strength * std::lerp(top, bottom, ty));
    }
  }
}

}  // namespace

Field value_noise(Size size, double cell, int octaves, Rng rng) {
  Field field(size);
  double strength = 1.0, total = 0.0;
  for (int k = 0; k < octaves; ++k) {
    add_octave(field, std::max(1.0, cell), strength, rng.fork(static_cast<uint32_t>(k)));
    total += strength;
    cell /= 2;
    strength /= 2;
  }
  for (float& value : field.values) value = static_cast<float>(value / total);
  return field;
}

Field blur_field(const Field& field, double sigma) {
  const int radius = std::max(1, static_cast<int>(std::ceil(3 * sigma)));
  std::vector<float> kernel;
  float sum = 0;
  for (int k = -radius; k <= radius; ++k)
    sum += kernel.emplace_back(static_cast<float>(std::exp(-0.5 * k * k / (sigma * sigma))));
  Field rows({field.height, field.width}), result({field.height, field.width});
  for (int y = 0; y < field.height; ++y) {
    for (int x = 0; x < field.width; ++x) {
      float total = 0;
      for (int k = -radius; k <= radius; ++k) {
        total += kernel[k + radius] * field.at(y, std::clamp(x + k, 0, field.width - 1));
      }
      rows.at(y, x) = total / sum;
    }
  }
  for (int y = 0; y < field.height; ++y) {
    for (int x = 0; x < field.width; ++x) {
      float total = 0;
      for (int k = -radius; k <= radius; ++k) {
        total += kernel[k + radius] * rows.at(std::clamp(y + k, 0, field.height - 1), x);
      }
      result.at(y, x) = total / sum;
    }
  }
  return result;
}

}  // namespace tessera
