#include <cstring>
#include <limits>

#include "data/simd/loop_set.h"
#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace tessera::TSR_SIMD {
namespace {

#ifdef __AVX2__

// Note [One photometric distortion] in kernels/pixels/pixel_color.h: the operations of change_color in its order, eight pixels
// at a time. In place of `if` both results are computed and one is kept; only what is said below is computed otherwise.
using Floats = __m256;

TSR_INLINE Floats all(float value) {
  return _mm256_set1_ps(value);
}
TSR_INLINE Floats chosen(Floats mask, Floats yes, Floats no) {
  return _mm256_blendv_ps(no, yes, mask);
}
// The instructions for the smaller and the larger of two numbers give the second one where they are equal, which is the same
// number here: there are neither NaNs nor negative zeros that anything would depend on.
TSR_INLINE Floats clipped(Floats value, float most) {
  return _mm256_min_ps(_mm256_max_ps(value, all(0)), all(most));
}

// place / 6 is the product with 1/6 here. It only matters where both lie on different sides of a whole number, and there, a
// little below a multiple of 6, the lack is 0 whichever side it is: 6 m * (1/6 rounded up) is m exactly for all m that occur.
TSR_INLINE Floats chroma_lack(Floats place) {
  const Floats turns = _mm256_add_ps(_mm256_mul_ps(place, all(1.0F / 6)), all(8));
  const Floats whole = _mm256_sub_ps(_mm256_round_ps(turns, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC), all(8));
  const Floats t = _mm256_sub_ps(place, _mm256_mul_ps(all(6), whole));
  return clipped(_mm256_min_ps(t, _mm256_sub_ps(all(4), t)), 1);
}

struct Pixels {
  Floats red, green, blue;
};

TSR_INLINE void change_hue(Pixels& p, const PixelColor& color) {
  const Floats high = _mm256_max_ps(_mm256_max_ps(p.red, p.green), p.blue);
  const Floats low = _mm256_min_ps(_mm256_min_ps(p.red, p.green), p.blue);
  // Grey has no hue and stays grey: nothing divided by the smallest number is nothing, as by any other.
  const Floats smallest = all(std::numeric_limits<float>::min());
  const Floats chroma = _mm256_sub_ps(high, low), divisor = _mm256_max_ps(chroma, smallest);
  const Floats is_red = _mm256_cmp_ps(high, p.red, _CMP_EQ_OQ), is_green = _mm256_cmp_ps(high, p.green, _CMP_EQ_OQ);
  const Floats from = chosen(is_red, p.green, chosen(is_green, p.blue, p.red));
  const Floats less = chosen(is_red, p.blue, chosen(is_green, p.red, p.green));
  const Floats start = chosen(is_red, all(0), chosen(is_green, all(2), all(4)));
  const Floats sector =
      _mm256_add_ps(_mm256_add_ps(start, _mm256_div_ps(_mm256_sub_ps(from, less), divisor)), all(color.sectors));
  const Floats s =
      _mm256_min_ps(_mm256_mul_ps(_mm256_div_ps(chroma, _mm256_max_ps(high, smallest)), all(color.saturation)), all(1));
  const auto channel = [&](float turn) {
    const Floats lack = chroma_lack(_mm256_add_ps(all(turn), sector));
    return _mm256_mul_ps(high, _mm256_sub_ps(all(1), _mm256_mul_ps(s, lack)));
  };
  p = {channel(5), channel(3), channel(1)};
}

// Halves upwards. What is added is the number before 0.5: with 0.5 itself the number before it would round to 1.
TSR_INLINE __m256i rounded(Floats value) {
  return _mm256_cvttps_epi32(_mm256_add_ps(value, all(0x1.FFFFFEp-2F)));
}

// The bytes of one channel of eight pixels, as numbers.
TSR_INLINE Floats channel_of(__m128i first, __m128i last, __m128i in_first, __m128i in_last) {
  const __m128i bytes = _mm_or_si128(_mm_shuffle_epi8(first, in_first), _mm_shuffle_epi8(last, in_last));
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
}

template <bool kTurns>
TSR_INLINE void change_eight(uint8_t* pixels, const PixelColor& color) {
  constexpr char kNo = -1;
  const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(pixels));
  const __m128i last = _mm_loadu_si128(reinterpret_cast<const __m128i*>(pixels + 8));
  Pixels p;
  p.red = channel_of(first, last, _mm_setr_epi8(0, 3, 6, 9, 12, 15, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo),
                     _mm_setr_epi8(kNo, kNo, kNo, kNo, kNo, kNo, 10, 13, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo));
  p.green = channel_of(first, last, _mm_setr_epi8(1, 4, 7, 10, 13, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo),
                       _mm_setr_epi8(kNo, kNo, kNo, kNo, kNo, 8, 11, 14, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo));
  p.blue = channel_of(first, last, _mm_setr_epi8(2, 5, 8, 11, 14, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo),
                      _mm_setr_epi8(kNo, kNo, kNo, kNo, kNo, 9, 12, 15, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo));
  const bool contrast_last = color.contrast_last != 0;
  for (Floats* value : {&p.red, &p.green, &p.blue}) {
    *value = clipped(_mm256_add_ps(*value, all(color.offset)), 255);
    if (!contrast_last) *value = clipped(_mm256_mul_ps(*value, all(color.factor)), 255);
  }
  if constexpr (kTurns) change_hue(p, color);
  for (Floats* value : {&p.red, &p.green, &p.blue}) {
    if (contrast_last) *value = clipped(_mm256_mul_ps(*value, all(color.factor)), 255);
  }
  const __m256i words = _mm256_or_si256(
      rounded(p.red), _mm256_or_si256(_mm256_slli_epi32(rounded(p.green), 8), _mm256_slli_epi32(rounded(p.blue), 16)));
  const __m256i bytes =
      _mm256_shuffle_epi8(words, _mm256_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, kNo, kNo, kNo, kNo,  //
                                                  0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, kNo, kNo, kNo, kNo));
  const __m128i end = _mm256_extracti128_si256(bytes, 1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(pixels), _mm256_castsi256_si128(bytes));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(pixels + 12), end);
  const int four = _mm_extract_epi32(end, 2);
  std::memcpy(pixels + 20, &four, sizeof four);
}

template <bool kTurns>
void change_all(uint8_t* pixels, size_t count, const PixelColor& color) {
  constexpr size_t kPixels = 8, kBytes = 3 * kPixels;
  for (; count >= kPixels; count -= kPixels, pixels += kBytes) change_eight<kTurns>(pixels, color);
  if (count == 0) return;
  uint8_t rest[kBytes] = {};
  std::memcpy(rest, pixels, 3 * count);
  change_eight<kTurns>(rest, color);
  std::memcpy(pixels, rest, 3 * count);
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
