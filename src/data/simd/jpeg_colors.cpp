#include <immintrin.h>

#include <cstring>

#include "data/simd/jpeg_loop_set.h"

namespace tessera::TSR_SIMD {
namespace {

constexpr size_t kAtOnce = 16;

TSR_INLINE __m256i words_at(const uint8_t* from) {
  return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
TSR_INLINE __m256i all(int value) {
  return _mm256_set1_epi16(static_cast<int16_t>(value));
}
TSR_INLINE __m256i thrice(__m256i value) {
  return _mm256_add_epi16(value, _mm256_add_epi16(value, value));
}

// Bytes of which every other one lies in `even`.
TSR_INLINE void store_merged(uint8_t* to, __m256i even, __m256i odd) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_or_si256(even, _mm256_slli_epi16(odd, 8)));
}

// Four times each value of a row between two.
TSR_INLINE __m256i between(const uint8_t* near, const uint8_t* far) {
  return _mm256_add_epi16(thrice(words_at(near)), words_at(far));
}

// Note [Colours of JPEG in 16 bits]
// libjpeg adds products of 16 bits behind the point, rounded: red is y + 1.402 cr, with 1.402 as 91881 / 65536. What exceeds 1
// of a factor leaves less than half, and that fits a number of 16 bits: (n + 32768) >> 16 is ((n >> 15) + 1) >> 1, of which n
// >> 15 is the upper half of a product with twice the number.
constexpr int kRed = 91881 - 65536;                                // 1.402 - 1
constexpr int kBlue = 116130 - 2 * 65536;                          // 1.772 - 2
constexpr int kGreenOfBlue = -22554, kGreenOfRed = 65536 - 46802;  // -0.34414 and 1 - 0.71414

TSR_INLINE __m256i part(__m256i value, int factor) {
  const __m256i twice = _mm256_mulhi_epi16(_mm256_add_epi16(value, value), all(factor));
  return _mm256_srai_epi16(_mm256_add_epi16(twice, all(1)), 1);
}

TSR_INLINE __m256i green_parts(__m256i cb, __m256i cr) {
  const __m256i factors = _mm256_set1_epi32(
      static_cast<int>((static_cast<uint32_t>(kGreenOfRed) << 16) | (static_cast<uint32_t>(kGreenOfBlue) & 0xFFFF)));
  const __m256i half = _mm256_set1_epi32(1 << 15);
  const __m256i low = _mm256_add_epi32(_mm256_madd_epi16(_mm256_unpacklo_epi16(cb, cr), factors), half);
  const __m256i high = _mm256_add_epi32(_mm256_madd_epi16(_mm256_unpackhi_epi16(cb, cr), factors), half);
  return _mm256_packs_epi32(_mm256_srai_epi32(low, 16), _mm256_srai_epi32(high, 16));
}

TSR_INLINE __m256i as_byte(__m256i value) {
  return _mm256_min_epi16(_mm256_max_epi16(value, all(0)), all(255));
}

// kAtOnce pixels; 4 bytes behind them are written.
TSR_INLINE void rgb_some(const uint8_t* y_row, const uint8_t* cb_row, const uint8_t* cr_row, uint8_t* to) {
  const __m256i y = words_at(y_row);
  const __m256i cb = _mm256_sub_epi16(words_at(cb_row), all(128)), cr = _mm256_sub_epi16(words_at(cr_row), all(128));
  const __m256i red = as_byte(_mm256_add_epi16(_mm256_add_epi16(y, cr), part(cr, kRed)));
  const __m256i green = as_byte(_mm256_add_epi16(_mm256_sub_epi16(y, cr), green_parts(cb, cr)));
  const __m256i blue = as_byte(_mm256_add_epi16(_mm256_add_epi16(y, _mm256_add_epi16(cb, cb)), part(cb, kBlue)));
  const __m256i red_green = _mm256_or_si256(red, _mm256_slli_epi16(green, 8));
  const __m256i together = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
  const __m256i low = _mm256_shuffle_epi8(_mm256_unpacklo_epi16(red_green, blue), together);   // pixels 0-3, 8-11
  const __m256i high = _mm256_shuffle_epi8(_mm256_unpackhi_epi16(red_green, blue), together);  // pixels 4-7, 12-15
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(low));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 12), _mm256_castsi256_si128(high));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 24), _mm256_extracti128_si256(low, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 36), _mm256_extracti128_si256(high, 1));
}

void double_row(const uint8_t* from, uint8_t* to, size_t count) {
  for (size_t i = 0; i < count; i += kAtOnce) {
    const __m256i own = thrice(words_at(from + i));
    const __m256i even = _mm256_add_epi16(_mm256_add_epi16(own, words_at(from + i - 1)), all(1));
    const __m256i odd = _mm256_add_epi16(_mm256_add_epi16(own, words_at(from + i + 1)), all(2));
    store_merged(to + 2 * i, _mm256_srli_epi16(even, 2), _mm256_srli_epi16(odd, 2));
  }
}

void double_between(const uint8_t* near, const uint8_t* far, uint8_t* to, size_t count) {
  for (size_t i = 0; i < count; i += kAtOnce) {
    const __m256i own = thrice(between(near + i, far + i));
    const __m256i even = _mm256_add_epi16(_mm256_add_epi16(own, between(near + i - 1, far + i - 1)), all(8));
    const __m256i odd = _mm256_add_epi16(_mm256_add_epi16(own, between(near + i + 1, far + i + 1)), all(7));
    store_merged(to + 2 * i, _mm256_srli_epi16(even, 4), _mm256_srli_epi16(odd, 4));
  }
}

void rgb_row(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, uint8_t* to, size_t count) {
  size_t i = 0;
  for (; i + kAtOnce + 2 <= count; i += kAtOnce) rgb_some(y + i, cb + i, cr + i, to + 3 * i);
  for (; i < count; i += kAtOnce) {
    uint8_t last[3 * kAtOnce + 4];
    rgb_some(y + i, cb + i, cr + i, last);
    std::memcpy(to + 3 * i, last, 3 * (count - i < kAtOnce ? count - i : kAtOnce));
  }
}

}  // namespace

extern const JpegLoops kJpegLoops;
const JpegLoops kJpegLoops = {read_mcus, skip_mcus, make_pixels, double_row, double_between, rgb_row};

}  // namespace tessera::TSR_SIMD
