#include <cstring>

#include "data/simd/loop_set.h"
#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace tessera::TSR_SIMD {
namespace {

// Weights are not negative and sum to 2^22, so a rounded sum of bytes is a byte.
constexpr int kShift = 22, kHalf = 1 << (kShift - 1);

TSR_INLINE int weight(const TapPair& pair, int i) {
  return (pair.high[i] << kLowWeightBits) + pair.low[i];
}

#ifdef __AVX2__

TSR_INLINE int two_shorts(const int16_t* from) {
  int both = 0;
  std::memcpy(&both, from, sizeof both);
  return both;
}

// Eight sums of bytes with weights in two halves.
struct Sums {
  __m256i low = _mm256_setzero_si256(), high = _mm256_setzero_si256();

  // values: in each of 8 places two numbers, which the two weights of their place are for.
  TSR_INLINE void add(__m256i values, __m256i low_weights, __m256i high_weights) {
    low = _mm256_add_epi32(low, _mm256_madd_epi16(values, low_weights));
    high = _mm256_add_epi32(high, _mm256_madd_epi16(values, high_weights));
  }
  TSR_INLINE __m256i rounded() const {
    const __m256i sum = _mm256_add_epi32(_mm256_slli_epi32(high, kLowWeightBits), low);
    return _mm256_srli_epi32(_mm256_add_epi32(sum, _mm256_set1_epi32(kHalf)), kShift);
  }
};

TSR_INLINE __m256i halves(__m128i a, __m128i b) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1);
}
TSR_INLINE __m256i weights_of(const int16_t* a, const int16_t* b) {
  return halves(_mm_set1_epi32(two_shorts(a)), _mm_set1_epi32(two_shorts(b)));
}
TSR_INLINE __m128i bytes_at(const uint8_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

#endif

}  // namespace

#ifdef __AVX2__

// Two pixels at a time, each in a half of a register.
void resize_rgb_row(const uint8_t* from, uint8_t* to, const int32_t* offsets, const TapPair* taps, int count, int pairs) {
  // The first two pixels of 16 bytes as pairs of numbers of 16 bits: red and red, green and green, blue and blue.
  const __m256i spread = _mm256_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1,  //
                                          0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1);
  const __m256i gather = _mm256_setr_epi8(0, 4, 8, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,  //
                                          0, 4, 8, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
  int x = 0;
  for (; x + 2 <= count; x += 2) {
    Sums sums;
    const TapPair *a = taps + static_cast<ptrdiff_t>(x) * pairs, *b = a + pairs;
    const uint8_t *from_a = from + offsets[x], *from_b = from + offsets[x + 1];
    for (int k = 0; k < pairs; ++k, from_a += 6, from_b += 6) {
      const __m256i values = _mm256_shuffle_epi8(halves(bytes_at(from_a), bytes_at(from_b)), spread);
      sums.add(values, weights_of(a[k].low, b[k].low), weights_of(a[k].high, b[k].high));
    }
    const __m256i packed = _mm256_shuffle_epi8(sums.rounded(), gather);
    const int first = _mm256_extract_epi32(packed, 0), second = _mm256_extract_epi32(packed, 4);
    std::memcpy(to + static_cast<ptrdiff_t>(x) * 3, &first, sizeof first);
    std::memcpy(to + static_cast<ptrdiff_t>(x) * 3 + 3, &second, sizeof second);
  }
  for (; x < count; ++x) {
    for (int c = 0; c < 3; ++c) {
      int sum = kHalf;
      for (int k = 0; k < 2 * pairs; ++k) {
        sum += weight(taps[static_cast<ptrdiff_t>(x) * pairs + k / 2], k % 2) * from[offsets[x] + k * 3 + c];
      }
      to[static_cast<ptrdiff_t>(x) * 3 + c] = static_cast<uint8_t>(sum >> kShift);
    }
  }
}

#else

void resize_rgb_row(const uint8_t* from, uint8_t* to, const int32_t* offsets, const TapPair* taps, int count, int pairs) {
  for (int x = 0; x < count; ++x, taps += pairs) {
    const uint8_t* pixel = from + offsets[x];
    int red = kHalf, green = kHalf, blue = kHalf;
    for (int k = 0; k < 2 * pairs; ++k, pixel += 3) {
      const int w = weight(taps[k / 2], k % 2);
      red += w * pixel[0];
      green += w * pixel[1];
      blue += w * pixel[2];
    }
    to[0] = static_cast<uint8_t>(red >> kShift);
    to[1] = static_cast<uint8_t>(green >> kShift);
    to[2] = static_cast<uint8_t>(blue >> kShift);
    to += 3;
  }
}

#endif

void sum_rows(const uint8_t* const* rows, uint8_t* to, const TapPair* taps, int pairs, size_t count) {
  size_t i = 0;
#ifdef __AVX2__
  for (; i + 16 <= count; i += 16) {
    Sums left, right;
    for (int k = 0; k < pairs; ++k) {
      const __m128i a = bytes_at(rows[2 * k] + i), b = bytes_at(rows[2 * k + 1] + i);
      const __m256i low = _mm256_set1_epi32(two_shorts(taps[k].low)), high = _mm256_set1_epi32(two_shorts(taps[k].high));
      left.add(_mm256_cvtepu8_epi16(_mm_unpacklo_epi8(a, b)), low, high);
      right.add(_mm256_cvtepu8_epi16(_mm_unpackhi_epi8(a, b)), low, high);
    }
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(left.rounded(), right.rounded()), 0xD8);
    const __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), bytes);
  }
#endif
  for (; i < count; ++i) {
    int sum = kHalf;
    for (int k = 0; k < 2 * pairs; ++k) sum += weight(taps[k / 2], k % 2) * rows[k][i];
    to[i] = static_cast<uint8_t>(sum >> kShift);
  }
}

}  // namespace tessera::TSR_SIMD
