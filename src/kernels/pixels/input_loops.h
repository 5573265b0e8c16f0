#pragma once
#include <cstdint>
#include <optional>

#include "kernels/pixels/pixel_color.h"

namespace tessera {

// (value / max_value - mean) / std of RGB bytes by products alone: each quotient is the product with the reciprocal, corrected
// once by what that leaves over.
struct RgbScale {
  float max_value, inverse_max;
  float mean[3], std[3], inverse_std[3];
};

// Inner loops that are compiled once per instruction set and chosen at run time.
struct InputLoops {
  // `count` RGB pixels: change_color, where a colour is given, of a hue within kMostSectors; then the scale. Null where the set
  // has nothing faster than one value after the other.
  void (*scale_rgb)(const uint8_t* from, float* to, int64_t count, const PixelColor* color, const RgbScale& scale) = nullptr;
};

const InputLoops& input_loops();

// For input_loops().scale_rgb, where it is there and gives every value of a byte the bits that the divisions give. mean, std:
// three numbers each.
std::optional<RgbScale> exact_rgb_scale(float max_value, const float* mean, const float* std);

}  // namespace tessera
