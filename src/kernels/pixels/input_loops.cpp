// Compiled once per instruction set, see CMakeLists.txt: TSR_SIMD names the set.
#include "kernels/pixels/input_loops.h"

#include <cstring>

#include "kernels/pixels/color_vectors.h"

namespace tessera::TSR_SIMD {
namespace {

#ifdef __AVX2__

constexpr int kBytes = 3 * kColorLanes;  // of the pixels that are computed together

TSR_INLINE Floats quotient(const Floats& value, float divisor, float inverse) {
  const Floats guess = value * all(inverse);
  return plus_product(guess, minus_product(value, guess, all(divisor)), all(inverse));
}

// Pixels with their channels side by side, three vectors of numbers. Each channel is put into the order in which the places of
// the three vectors meet it; then a place of a vector takes one channel's number of that place.
TSR_INLINE void store_rgb(float* to, Vector red, Vector green, Vector blue) {
#ifdef __AVX512BW__
  red = _mm512_permutexvar_ps(_mm512_setr_epi32(0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15, 10, 5), red);
  green = _mm512_permutexvar_ps(_mm512_setr_epi32(5, 0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15, 10), green);
  blue = _mm512_permutexvar_ps(_mm512_setr_epi32(10, 5, 0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15), blue);
  constexpr Lanes kFirst = 0x9249, kSecond = 0x2492, kThird = 0x4924;  // every third place from 0, 1 and 2 on
  _mm512_storeu_ps(to, chosen(kFirst, red, chosen(kSecond, green, blue)));
  _mm512_storeu_ps(to + 16, chosen(kThird, red, chosen(kFirst, green, blue)));
  _mm512_storeu_ps(to + 32, chosen(kSecond, red, chosen(kThird, green, blue)));
#else
  red = _mm256_permutevar8x32_ps(red, _mm256_setr_epi32(0, 3, 6, 1, 4, 7, 2, 5));
  green = _mm256_permutevar8x32_ps(green, _mm256_setr_epi32(5, 0, 3, 6, 1, 4, 7, 2));
  blue = _mm256_permutevar8x32_ps(blue, _mm256_setr_epi32(2, 5, 0, 3, 6, 1, 4, 7));
  constexpr int kFirst = 0x49, kSecond = 0x92, kThird = 0x24;
  _mm256_storeu_ps(to, _mm256_blend_ps(_mm256_blend_ps(blue, green, kSecond), red, kFirst));
  _mm256_storeu_ps(to + 8, _mm256_blend_ps(_mm256_blend_ps(blue, green, kThird), red, kSecond));
  _mm256_storeu_ps(to + 16, _mm256_blend_ps(_mm256_blend_ps(blue, green, kFirst), red, kThird));
#endif
}

enum class Change { kNone, kValues, kTurns };

template <Change kChange>
TSR_INLINE void scale_some(const uint8_t* from, float* to, const PixelColor* color, const RgbScale& scale) {
  RgbVectors p = load_rgb(from);
  if constexpr (kChange != Change::kNone) change_color<kChange == Change::kTurns>(p, *color);
  int channel = 0;
  for (Floats* value : {&p.red, &p.green, &p.blue}) {
    const Floats centred = quotient(*value, scale.max_value, scale.inverse_max) - all(scale.mean[channel]);
    *value = quotient(centred, scale.std[channel], scale.inverse_std[channel]);
    ++channel;
  }
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i, to += 3 * kVectorLanes) store_rgb(to, p.red.part[i], p.green.part[i], p.blue.part[i]);
}

template <Change kChange>
void scale_all(const uint8_t* from, float* to, int64_t count, const PixelColor* color, const RgbScale& scale) {
  for (; 3 * count >= 4 * kColorLanes; count -= kColorLanes, from += kBytes, to += kBytes) {
    scale_some<kChange>(from, to, color, scale);
  }
  while (count > 0) {
    const int64_t some = count < kColorLanes ? count : kColorLanes;
    uint8_t rest[4 * kColorLanes] = {};
    float results[kBytes];
    std::memcpy(rest, from, static_cast<size_t>(3 * some));
    scale_some<kChange>(rest, results, color, scale);
    std::memcpy(to, results, static_cast<size_t>(3 * some) * sizeof(float));
    count -= some;
    from += 3 * some;
    to += 3 * some;
  }
}

void scale_rgb(const uint8_t* from, float* to, int64_t count, const PixelColor* color, const RgbScale& scale) {
  const auto run = color == nullptr                                ? scale_all<Change::kNone>
                   : color->saturation != 1 || color->sectors != 0 ? scale_all<Change::kTurns>
                                                                   : scale_all<Change::kValues>;
  run(from, to, count, color, scale);
}

#endif

}  // namespace

extern const InputLoops kInputLoops;
#ifdef __AVX2__
const InputLoops kInputLoops = {scale_rgb};
#else
const InputLoops kInputLoops = {};
#endif

}  // namespace tessera::TSR_SIMD
