#pragma once
// change_color of kernels/pixels/pixel_color.h for many RGB pixels at a time, where the instruction set that a source is
// compiled for has vectors for it (kColorLanes > 0). For sources that are compiled once per set, without contraction of
// products and sums (-ffp-contract=off).
#include <cstdint>

#include "kernels/pixels/pixel_color.h"
#ifdef __AVX2__
#include <immintrin.h>
#endif
#ifndef TSR_SIMD
#define TSR_SIMD baseline
#endif
#ifndef TSR_INLINE
#define TSR_INLINE inline __attribute__((always_inline))
#endif
#define TSR_LAMBDA __attribute__((always_inline))

namespace tessera::TSR_SIMD {

#if defined(__AVX512BW__)
inline constexpr int kVectorLanes = 16, kParts = 4;
using Vector = __m512;
using Lanes = __mmask16;
#elif defined(__AVX2__)
inline constexpr int kVectorLanes = 8, kParts = 2;
using Vector = __m256;
using Lanes = __m256;
#else
inline constexpr int kVectorLanes = 0, kParts = 1;
#endif
inline constexpr int kColorLanes = kParts * kVectorLanes;  // pixels that are computed together

#ifdef __AVX2__

// Numbers of all those pixels. Each takes a long chain of operations, so that a processor has more to do side by side where the
// operations of some vectors alternate.
struct Floats {
  Vector part[kParts];
};
struct Choice {
  Lanes part[kParts];
};

template <class Result, class Operation, class... Operands>
TSR_INLINE Result each(const Operation& operation, const Operands&... operands) {
  Result result;
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) result.part[i] = operation(operands.part[i]...);
  return result;
}

TSR_INLINE Vector vector_of(float value) {
#ifdef __AVX512BW__
  return _mm512_set1_ps(value);
#else
  return _mm256_set1_ps(value);
#endif
}
TSR_INLINE Floats all(float value) {
  Floats result;
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) result.part[i] = vector_of(value);
  return result;
}

TSR_INLINE Floats operator+(const Floats& a, const Floats& b) {
  return each<Floats>([](Vector x, Vector y) TSR_LAMBDA { return x + y; }, a, b);
}
TSR_INLINE Floats operator-(const Floats& a, const Floats& b) {
  return each<Floats>([](Vector x, Vector y) TSR_LAMBDA { return x - y; }, a, b);
}
TSR_INLINE Floats operator*(const Floats& a, const Floats& b) {
  return each<Floats>([](Vector x, Vector y) TSR_LAMBDA { return x * y; }, a, b);
}
TSR_INLINE Floats operator/(const Floats& a, const Floats& b) {
  return each<Floats>([](Vector x, Vector y) TSR_LAMBDA { return x / y; }, a, b);
}

#ifdef __AVX512BW__
#define TSR_OF_SET(name) _mm512_##name
#else
#define TSR_OF_SET(name) _mm256_##name
#endif
TSR_INLINE Floats smaller(const Floats& a, const Floats& b) {
  return each<Floats>([](Vector x, Vector y) TSR_LAMBDA { return TSR_OF_SET(min_ps)(x, y); }, a, b);
}
TSR_INLINE Floats larger(const Floats& a, const Floats& b) {
  return each<Floats>([](Vector x, Vector y) TSR_LAMBDA { return TSR_OF_SET(max_ps)(x, y); }, a, b);
}
// value + a * b and value - a * b, rounded once.
TSR_INLINE Floats plus_product(const Floats& value, const Floats& a, const Floats& b) {
  return each<Floats>([](Vector v, Vector x, Vector y) TSR_LAMBDA { return TSR_OF_SET(fmadd_ps)(x, y, v); }, value, a, b);
}
TSR_INLINE Floats minus_product(const Floats& value, const Floats& a, const Floats& b) {
  return each<Floats>([](Vector v, Vector x, Vector y) TSR_LAMBDA { return TSR_OF_SET(fnmadd_ps)(x, y, v); }, value, a, b);
}
#undef TSR_OF_SET

TSR_INLINE Floats floor_of(const Floats& value) {
#ifdef __AVX512BW__
  return each<Floats>([](Vector x) TSR_LAMBDA { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); },
                      value);
#else
  return each<Floats>([](Vector x) TSR_LAMBDA { return _mm256_floor_ps(x); }, value);
#endif
}
TSR_INLINE Choice equal(const Floats& a, const Floats& b) {
#ifdef __AVX512BW__
  return each<Choice>([](Vector x, Vector y) TSR_LAMBDA { return _mm512_cmp_ps_mask(x, y, _CMP_EQ_OQ); }, a, b);
#else
  return each<Choice>([](Vector x, Vector y) TSR_LAMBDA { return _mm256_cmp_ps(x, y, _CMP_EQ_OQ); }, a, b);
#endif
}
TSR_INLINE Vector chosen(Lanes which, Vector yes, Vector no) {
#ifdef __AVX512BW__
  return _mm512_mask_blend_ps(which, no, yes);
#else
  return _mm256_blendv_ps(no, yes, which);
#endif
}
TSR_INLINE Floats chosen(const Choice& which, const Floats& yes, const Floats& no) {
  return each<Floats>([](Lanes w, Vector y, Vector n) TSR_LAMBDA { return chosen(w, y, n); }, which, yes, no);
}

#endif

#ifdef __AVX2__

// Note [One photometric distortion]: the operations of change_color in its order. In place of `if` both results are computed
// and one is kept; only what is said below is computed otherwise.
struct RgbVectors {
  Floats red, green, blue;
};

// The instructions for the smaller and the larger of two numbers give the second one where they are equal or one is no number.
TSR_INLINE Floats clipped(const Floats& value, float most) {
  return smaller(larger(value, all(0)), all(most));
}

// place / 6 is the product with 1/6 here, and rounded downwards at once. Both only matter where they lead to another whole
// number. That is so just below a multiple of 6 alone, where the lack is 0 whichever it is: above one, place is further from it
// than 1/6 rounded is from 1/6. The product of 6 and a whole number is exact.
TSR_INLINE Floats chroma_lack(const Floats& place) {
  const Floats t = minus_product(place, all(6), floor_of(place * all(1.0F / 6)));
  return clipped(smaller(t, all(4) - t), 1);
}

TSR_INLINE void change_hue(RgbVectors& p, const PixelColor& color) {
  const Floats high = larger(larger(p.red, p.green), p.blue), low = smaller(smaller(p.red, p.green), p.blue);
  const Floats chroma = high - low;
  const Choice is_red = equal(high, p.red), is_green = equal(high, p.green);
  const Floats from = chosen(is_red, p.green, chosen(is_green, p.blue, p.red));
  const Floats less = chosen(is_red, p.blue, chosen(is_green, p.red, p.green));
  const Floats start = chosen(is_red, all(0), chosen(is_green, all(2), all(4)));
  const Floats sector = start + (from - less) / chroma + all(color.sectors);
  // Grey has no hue and stays grey: what is no number here becomes the 0 of clipped(), and the 1 below where even `high` is 0.
  const Floats s = smaller(chroma / high * all(color.saturation), all(1));
  const auto channel = [&](float turn) { return high * (all(1) - s * chroma_lack(all(turn) + sector)); };
  p = {channel(5), channel(3), channel(1)};
}

// Of bytes, for hues within kMostSectors.
template <bool kTurns>
TSR_INLINE void change_color(RgbVectors& p, const PixelColor& color) {
  const bool contrast_last = color.contrast_last != 0;
  for (Floats* value : {&p.red, &p.green, &p.blue}) {
    *value = clipped(*value + all(color.offset), 255);
    if (!contrast_last) *value = smaller(*value * all(color.factor), all(255));  // factors are not negative
  }
  if constexpr (kTurns) change_hue(p, color);
  for (Floats* value : {&p.red, &p.green, &p.blue}) {
    if (contrast_last) *value = smaller(*value * all(color.factor), all(255));
    // Halves upwards. What is added is the number before 0.5: with 0.5 itself the number before it would round to 1.
    *value = floor_of(*value + all(0x1.FFFFFEp-2F));
  }
}

// The pixels that lie at `from`; 4 * kColorLanes bytes are read, of which 3 * kColorLanes count.
TSR_INLINE RgbVectors load_rgb(const uint8_t* from) {
  RgbVectors p;
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i, from += 3 * kVectorLanes) {
    // Four pixels in each part of 16 bytes, then every third byte of a part as a number of 32 bits.
#ifdef __AVX512BW__
    const __m512i spread = _mm512_setr_epi32(0, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 8, 9, 10, 11, 11);
    const __m512i parts = _mm512_permutexvar_epi32(spread, _mm512_loadu_si512(from));
    const auto channel = [&](int first) TSR_LAMBDA {
      const __m128i bytes =
          _mm_or_si128(_mm_add_epi32(_mm_setr_epi32(0, 3, 6, 9), _mm_set1_epi32(first)), _mm_set1_epi32(-0x100));
      return _mm512_cvtepi32_ps(_mm512_shuffle_epi8(parts, _mm512_broadcast_i32x4(bytes)));
    };
#else
    const __m256i spread = _mm256_setr_epi32(0, 1, 2, 2, 3, 4, 5, 5);
    const __m256i parts = _mm256_permutevar8x32_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)), spread);
    const auto channel = [&](int first) TSR_LAMBDA {
      const __m128i bytes =
          _mm_or_si128(_mm_add_epi32(_mm_setr_epi32(0, 3, 6, 9), _mm_set1_epi32(first)), _mm_set1_epi32(-0x100));
      return _mm256_cvtepi32_ps(_mm256_shuffle_epi8(parts, _mm256_broadcastsi128_si256(bytes)));
    };
#endif
    p.red.part[i] = channel(0);
    p.green.part[i] = channel(1);
    p.blue.part[i] = channel(2);
  }
  return p;
}

#endif

}  // namespace tessera::TSR_SIMD
