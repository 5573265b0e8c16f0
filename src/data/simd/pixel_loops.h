#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/pixels/pixel_color.h"

// Inner loops over the pixels of 8-bit images, compiled once for what every processor of a kind has, for AVX2 and for AVX-512
// (CMakeLists.txt), and chosen at run time. All of them give the same bits.

namespace tessera {

// Two weights of 2^-22 each, as halves of 16 bits: 2^11 * high + low.
inline constexpr int kLowWeightBits = 11;
struct TapPair {
  int16_t low[2] = {0, 0}, high[2] = {0, 0};
};

struct PixelLoops {
  // `count` RGB pixels; pixel x is the weighted sum of the 2 * pairs pixels that begin at from[offsets[x]], rounded. taps: for
  // each kTapGroup pixels those of their first pairs, then those of their second, ...; offsets and taps are there for whole
  // groups. Reads up to kReadBeyond bytes behind the last pixel it needs and writes kWriteBeyond behind the last pixel.
  void (*resize_rgb_row)(const uint8_t* from, uint8_t* to, const int32_t* offsets, const TapPair* taps, int count, int pairs);

  // `count` values, each the weighted sum of those of 2 * pairs rows, rounded.
  void (*sum_rows)(const uint8_t* const* rows, uint8_t* to, const TapPair* taps, int pairs, size_t count);

  // change_color of `count` RGB pixels in place, for hues within kMostSectors.
  void (*change_rgb)(uint8_t* pixels, size_t count, const PixelColor& color);

  // Modulo 256, in rising order: to[i] += above[i], and row[i] += row[i - unit], the filters "up" and "sub" of PNG.
  void (*add_row)(uint8_t* to, const uint8_t* above, size_t count);
  void (*add_left)(uint8_t* row, size_t count, size_t unit);
};
inline constexpr size_t kReadBeyond = 16, kWriteBeyond = 16;
inline constexpr int kTapGroup = 4;

// Where pair k of pixel x is among the taps.
inline int tap_place(int x, int k, int pairs) {
  return (x / kTapGroup * pairs + k) * kTapGroup + x % kTapGroup;
}

const PixelLoops& pixel_loops();

}  // namespace tessera
