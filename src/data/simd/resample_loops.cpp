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

#if defined(__AVX512BW__)

constexpr size_t kSummed = 32;  // values of a row that are computed together

TSR_INLINE __m512i all_pairs(const int16_t* weights) {
  int both = 0;
  std::memcpy(&both, weights, sizeof both);
  return _mm512_set1_epi32(both);
}

// Sixteen sums of bytes with weights in two halves.
struct Sums {
  __m512i low = _mm512_setzero_si512(), high = _mm512_setzero_si512();

  // values: in each of 16 places two numbers, which the two weights of their place are for.
  TSR_INLINE void add(__m512i values, __m512i low_weights, __m512i high_weights) {
    low = _mm512_add_epi32(low, _mm512_madd_epi16(values, low_weights));
    high = _mm512_add_epi32(high, _mm512_madd_epi16(values, high_weights));
  }
  TSR_INLINE __m128i rounded() const {
    const __m512i sum = _mm512_add_epi32(_mm512_slli_epi32(high, kLowWeightBits), low);
    return _mm512_cvtepi32_epi8(_mm512_srli_epi32(_mm512_add_epi32(sum, _mm512_set1_epi32(kHalf)), kShift));
  }
};

TSR_INLINE __m128i bytes_at(const uint8_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

// The four pixels of a group: of each red, green, blue and a byte that means nothing.
TSR_INLINE __m128i resized_group(const uint8_t* from, const int32_t* offsets, const TapPair* taps, int pairs) {
  // The first two pixels of 16 bytes as pairs of numbers of 16 bits: red and red, green and green, blue and blue.
  const __m512i spread = _mm512_broadcast_i32x4(_mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1));
  const __m512i lows = _mm512_setr_epi32(0, 0, 0, 0, 2, 2, 2, 2, 4, 4, 4, 4, 6, 6, 6, 6);
  const __m512i highs = _mm512_add_epi32(lows, _mm512_set1_epi32(1));
  Sums sums;
  for (int k = 0; k < pairs; ++k, from += 6, taps += kTapGroup) {
    __m512i pixels = _mm512_castsi128_si512(bytes_at(from + offsets[0]));
    pixels = _mm512_inserti32x4(pixels, bytes_at(from + offsets[1]), 1);
    pixels = _mm512_inserti32x4(pixels, bytes_at(from + offsets[2]), 2);
    pixels = _mm512_inserti32x4(pixels, bytes_at(from + offsets[3]), 3);
    const __m512i weights = _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(taps)));
    sums.add(_mm512_shuffle_epi8(pixels, spread), _mm512_permutexvar_epi32(lows, weights),
             _mm512_permutexvar_epi32(highs, weights));
  }
  return sums.rounded();
}

TSR_INLINE void sum_some(const uint8_t* const* rows, uint8_t* to, const TapPair* taps, int pairs, size_t at) {
  Sums left, right;
  for (int k = 0; k < pairs; ++k) {
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows[2 * k] + at));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows[2 * k + 1] + at));
    const __m512i low = all_pairs(taps[k].low), high = all_pairs(taps[k].high);
    left.add(_mm512_cvtepu8_epi16(_mm256_unpacklo_epi8(a, b)), low, high);
    right.add(_mm512_cvtepu8_epi16(_mm256_unpackhi_epi8(a, b)), low, high);
  }
  // Each of them is of every other eight values.
  const __m128i even = left.rounded(), odd = right.rounded();
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to + at), _mm_unpacklo_epi64(even, odd));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to + at + 16), _mm_unpackhi_epi64(even, odd));
}

#elif defined(__AVX2__)

constexpr size_t kSummed = 16;

TSR_INLINE __m256i all_pairs(const int16_t* weights) {
  int both = 0;
  std::memcpy(&both, weights, sizeof both);
  return _mm256_set1_epi32(both);
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

TSR_INLINE __m128i bytes_at(const uint8_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

// Two of the four pixels of a group.
TSR_INLINE __m256i resized_half(const uint8_t* from, const int32_t* offsets, const TapPair* taps, int pairs) {
  // The first two pixels of 16 bytes as pairs of numbers of 16 bits: red and red, green and green, blue and blue.
  const __m256i spread = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1));
  const __m256i lows = _mm256_setr_epi32(0, 0, 0, 0, 2, 2, 2, 2), highs = _mm256_setr_epi32(1, 1, 1, 1, 3, 3, 3, 3);
  Sums sums;
  for (int k = 0; k < pairs; ++k, from += 6, taps += kTapGroup) {
    const __m256i pixels =
        _mm256_inserti128_si256(_mm256_castsi128_si256(bytes_at(from + offsets[0])), bytes_at(from + offsets[1]), 1);
    const __m256i weights = _mm256_castsi128_si256(bytes_at(reinterpret_cast<const uint8_t*>(taps)));
    sums.add(_mm256_shuffle_epi8(pixels, spread), _mm256_permutevar8x32_epi32(weights, lows),
             _mm256_permutevar8x32_epi32(weights, highs));
  }
  return sums.rounded();
}

TSR_INLINE __m128i resized_group(const uint8_t* from, const int32_t* offsets, const TapPair* taps, int pairs) {
  const __m256i words =
      _mm256_packs_epi32(resized_half(from, offsets, taps, pairs), resized_half(from, offsets + 2, taps + 2, pairs));
  const __m256i bytes = _mm256_packus_epi16(words, words);  // pixels 0 and 2 in one half, 1 and 3 in the other
  return _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
}

TSR_INLINE void sum_some(const uint8_t* const* rows, uint8_t* to, const TapPair* taps, int pairs, size_t at) {
  Sums left, right;
  for (int k = 0; k < pairs; ++k) {
    const __m128i a = bytes_at(rows[2 * k] + at), b = bytes_at(rows[2 * k + 1] + at);
    const __m256i low = all_pairs(taps[k].low), high = all_pairs(taps[k].high);
    left.add(_mm256_cvtepu8_epi16(_mm_unpacklo_epi8(a, b)), low, high);
    right.add(_mm256_cvtepu8_epi16(_mm_unpackhi_epi8(a, b)), low, high);
  }
  const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(left.rounded(), right.rounded()), 0xD8);
  const __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to + at), bytes);
}

#endif

}  // namespace

#ifdef __AVX2__

void resize_rgb_row(const uint8_t* from, uint8_t* to, const int32_t* offsets, const TapPair* taps, int count, int pairs) {
  const __m128i colors = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
  for (int x = 0; x < count; x += kTapGroup, offsets += kTapGroup, taps += kTapGroup * pairs, to += 3 * kTapGroup) {
    const __m128i group = resized_group(from, offsets, taps, pairs);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi8(group, colors));
  }
}

#else

void resize_rgb_row(const uint8_t* from, uint8_t* to, const int32_t* offsets, const TapPair* taps, int count, int pairs) {
  for (int x = 0; x < count; ++x) {
    const uint8_t* pixel = from + offsets[x];
    const TapPair* const own = taps + x / kTapGroup * kTapGroup * pairs + x % kTapGroup;
    int red = kHalf, green = kHalf, blue = kHalf;
    for (int k = 0; k < 2 * pairs; ++k, pixel += 3) {
      const int w = weight(own[k / 2 * kTapGroup], k % 2);
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
  for (; i + kSummed <= count; i += kSummed) sum_some(rows, to, taps, pairs, i);
  if (i < count && count >= kSummed) {  // the last ones once more, with those before them
    sum_some(rows, to, taps, pairs, count - kSummed);
    return;
  }
#endif
  for (; i < count; ++i) {
    int sum = kHalf;
    for (int k = 0; k < 2 * pairs; ++k) sum += weight(taps[k / 2], k % 2) * rows[k][i];
    to[i] = static_cast<uint8_t>(sum >> kShift);
  }
}

}  // namespace tessera::TSR_SIMD
