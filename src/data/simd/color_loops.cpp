#include <cstring>

#include "data/simd/loop_set.h"
#include "kernels/pixels/color_vectors.h"

namespace tessera::TSR_SIMD {
namespace {

#ifdef __AVX2__

// Numbers from 0 to 255 as bytes: 3 * kVectorLanes of them are written.
TSR_INLINE void store_bytes(uint8_t* to, Vector red, Vector green, Vector blue) {
  // The three bytes of a pixel in a number of 32 bits, then the numbers of each part of 16 bytes moved together.
#ifdef __AVX512BW__
  const __m512i words = _mm512_or_si512(
      _mm512_cvttps_epi32(red),
      _mm512_or_si512(_mm512_slli_epi32(_mm512_cvttps_epi32(green), 8), _mm512_slli_epi32(_mm512_cvttps_epi32(blue), 16)));
  const __m128i together = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
  const __m512i bytes = _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15),
                                                 _mm512_shuffle_epi8(words, _mm512_broadcast_i32x4(together)));
  _mm512_mask_storeu_epi32(to, 0x0FFF, bytes);
#else
  const __m256i words = _mm256_or_si256(
      _mm256_cvttps_epi32(red),
      _mm256_or_si256(_mm256_slli_epi32(_mm256_cvttps_epi32(green), 8), _mm256_slli_epi32(_mm256_cvttps_epi32(blue), 16)));
  const __m128i together = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
  const __m256i bytes = _mm256_shuffle_epi8(words, _mm256_broadcastsi128_si256(together));
  const __m128i end = _mm256_extracti128_si256(bytes, 1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(bytes));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to + 12), end);
  const int four = _mm_extract_epi32(end, 2);
  std::memcpy(to + 20, &four, sizeof four);
#endif
}

template <bool kTurns>
TSR_INLINE void change_some(uint8_t* pixels, const PixelColor& color) {
  RgbVectors p = load_rgb(pixels);
  change_color<kTurns>(p, color);
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) store_bytes(pixels + 3 * kVectorLanes * i, p.red.part[i], p.green.part[i], p.blue.part[i]);
}

template <bool kTurns>
void change_all(uint8_t* pixels, size_t count, const PixelColor& color) {
  constexpr size_t kPixels = kColorLanes, kRead = 4 * kPixels;
  for (; 3 * count >= kRead; count -= kPixels, pixels += 3 * kPixels) change_some<kTurns>(pixels, color);
  while (count > 0) {
    const size_t some = count < kPixels ? count : kPixels;
    uint8_t rest[kRead] = {};
    std::memcpy(rest, pixels, 3 * some);
    change_some<kTurns>(rest, color);
    std::memcpy(pixels, rest, 3 * some);
    count -= some;
    pixels += 3 * some;
  }
}

void change_rgb(uint8_t* pixels, size_t count, const PixelColor& color) {
  if (color.saturation != 1 || color.sectors != 0) {
    change_all<true>(pixels, count, color);
  } else {
    change_all<false>(pixels, count, color);
  }
}

#else

template <int kCount>
void change_values(uint8_t* values, size_t count, const PixelColor& color) {
  for (float units[kCount]; count > 0; count -= kCount, values += kCount) {
    for (int c = 0; c < kCount; ++c) units[c] = values[c];
    change_color<true, kCount>(units, color);
    for (int c = 0; c < kCount; ++c) values[c] = static_cast<uint8_t>(units[c]);
  }
}

void change_rgb(uint8_t* pixels, size_t count, const PixelColor& color) {
  if (color.turns()) {
    change_values<3>(pixels, 3 * count, color);
  } else {
    change_values<1>(pixels, 3 * count, color);
  }
}

#endif

}  // namespace

extern const PixelLoops kPixelLoops;
const PixelLoops kPixelLoops = {resize_rgb_row, sum_rows, change_rgb, add_row, add_left};

}  // namespace tessera::TSR_SIMD
