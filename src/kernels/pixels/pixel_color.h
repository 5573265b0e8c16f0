#pragma once
#include <cstdint>

#include "core/host_device.h"
#include "core/image.h"

namespace tessera {

// Note [One photometric distortion]
// The loader's threads and what makes network input, on a CPU and on a GPU, change colours with the functions below: in
// float32, the same operations in the same order, none of them contracted, so a pixel gets the same value wherever it is
// computed.

// A ColorChange as pixels need it, a row of the table a kernel reads.
struct PixelColor {
  float offset = 0;         // added
  float factor = 1;         // contrast
  float contrast_last = 0;  // 0 or 1
  float saturation = 1;
  float sectors = 0;  // hue, in sixths of the circle

  TSR_HOST_DEVICE bool turns() const { return saturation != 1 || sectors != 0; }
};
inline constexpr int64_t kPixelColorNumbers = 5;
inline constexpr float kMostSectors = 40;  // of hues that chroma_lack is right for
static_assert(sizeof(PixelColor) == kPixelColorNumbers * sizeof(float));

// max_value: the pixel value that stands for 1.
inline PixelColor pixel_color(const ColorChange& change, double max_value) {
  return {static_cast<float>(change.brightness * max_value), static_cast<float>(change.contrast),
          change.contrast_last ? 1.0F : 0.0F, static_cast<float>(change.saturation), static_cast<float>(change.hue / 60)};
}

// How much of the chroma the channel that begins at `place` on the circle lacks there.
TSR_HOST_DEVICE float chroma_lack(float place) {
  const float t = place - 6 * static_cast<float>(static_cast<int>(place / 6 + 8) - 8);  // + 8: casts round towards 0
  const float low = t < 4 - t ? t : 4 - t;
  return low < 0 ? 0.0F : low > 1 ? 1.0F : low;
}

// Multiplies S and turns H of one RGB pixel. V is the largest channel; it has no upper bound, so float images work too.
TSR_HOST_DEVICE void change_hue(float* rgb, const PixelColor& color) {
  const float red = rgb[0], green = rgb[1], blue = rgb[2];
  const float more = red > green ? red : green, less = red > green ? green : red;
  const float high = more > blue ? more : blue, low = less < blue ? less : blue;
  const float chroma = high - low;
  if (chroma <= 0 || high <= 0) return;  // grey has no hue and stays grey
  float sector = high == red ? (green - blue) / chroma : high == green ? 2 + (blue - red) / chroma : 4 + (red - green) / chroma;
  sector += color.sectors;
  const float scaled = chroma / high * color.saturation, s = scaled < 1 ? scaled : 1.0F;
  rgb[0] = high * (1 - s * chroma_lack(5 + sector));
  rgb[1] = high * (1 - s * chroma_lack(3 + sector));
  rgb[2] = high * (1 - s * chroma_lack(1 + sector));
}

template <bool kBytes>
TSR_HOST_DEVICE float clip_value(float value) {
  return !kBytes ? value : value < 0 ? 0.0F : value > 255 ? 255.0F : value;
}

// Brightness; contrast, here or at the end; saturation and hue of kCount = 3 values. Bytes are kept within 0..255 after each
// step and rounded once, at the end, halves upwards; others are not clipped.
template <bool kBytes, int kCount>
TSR_HOST_DEVICE void change_color(float* values, const PixelColor& color) {
  const bool contrast_last = color.contrast_last != 0;
  for (int c = 0; c < kCount; ++c) {
    values[c] = clip_value<kBytes>(values[c] + color.offset);
    if (!contrast_last) values[c] = clip_value<kBytes>(values[c] * color.factor);
  }
  if constexpr (kCount == 3) {
    if (color.turns()) change_hue(values, color);
  }
  for (int c = 0; c < kCount; ++c) {
    if (contrast_last) values[c] = clip_value<kBytes>(values[c] * color.factor);
    if constexpr (kBytes) {
      const auto whole = static_cast<float>(static_cast<int>(values[c]));
      values[c] = values[c] - whole >= 0.5F ? whole + 1 : whole;
    }
  }
}

}  // namespace tessera
