#pragma once
#include <vector>

#include "core/image.h"
#include "core/rng.h"

namespace tessera {

// A field of one float per pixel, row by row; the canvas synthetic images are painted on.
struct Field {
  int height = 0;
  int width = 0;
  std::vector<float> values;

  explicit Field(Size size, float fill = 0)
      : height(size.height), width(size.width), values(static_cast<size_t>(height) * static_cast<size_t>(width), fill) {}
  float& at(int y, int x) { return values[static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)]; }
  float at(int y, int x) const { return values[static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)]; }
};

// Smooth noise in -1..1 with features of about `cell` pixels; each further octave is half as large and half as strong.
Field value_noise(Size size, double cell, int octaves, Rng rng);

// Gaussian blur with clamped borders.
Field blur_field(const Field& field, double sigma);

}  // namespace tessera
