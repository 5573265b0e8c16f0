#include <immintrin.h>

#include "data/simd/jpeg_loop_set.h"

// Note [The inverse DCT of libjpeg-turbo]
// An encoder's pixels come back exactly alike only from the same integers: factors of 13 bits, sums of 32, rounded to 16 after
// the columns and to 8 after the rows. Each part of 128 bits of a vector holds a row of another block, so that its blocks are
// computed side by side by instructions that know nothing of one another's parts.

namespace tessera::TSR_SIMD {
namespace {

#ifdef __AVX512BW__

constexpr int kParts = 4;
using Words = __m512i;
TSR_INLINE Words all(int pair) {
  return _mm512_set1_epi32(pair);
}
TSR_INLINE Words add16(Words a, Words b) {
  return _mm512_add_epi16(a, b);
}
TSR_INLINE Words subtract16(Words a, Words b) {
  return _mm512_sub_epi16(a, b);
}
TSR_INLINE Words multiply16(Words a, Words b) {
  return _mm512_mullo_epi16(a, b);
}
TSR_INLINE Words add32(Words a, Words b) {
  return _mm512_add_epi32(a, b);
}
TSR_INLINE Words subtract32(Words a, Words b) {
  return _mm512_sub_epi32(a, b);
}
TSR_INLINE Words products(Words a, Words b) {
  return _mm512_madd_epi16(a, b);
}
template <int kBits>
TSR_INLINE Words shift_right32(Words a) {
  return _mm512_srai_epi32(a, kBits);
}
TSR_INLINE Words to16(Words a, Words b) {
  return _mm512_packs_epi32(a, b);
}
TSR_INLINE Words to8(Words a, Words b) {
  return _mm512_packs_epi16(a, b);
}
TSR_INLINE Words low8(Words a, Words b) {
  return _mm512_unpacklo_epi8(a, b);
}
TSR_INLINE Words high8(Words a, Words b) {
  return _mm512_unpackhi_epi8(a, b);
}
TSR_INLINE Words low16(Words a, Words b) {
  return _mm512_unpacklo_epi16(a, b);
}
TSR_INLINE Words high16(Words a, Words b) {
  return _mm512_unpackhi_epi16(a, b);
}
TSR_INLINE Words low32(Words a, Words b) {
  return _mm512_unpacklo_epi32(a, b);
}
TSR_INLINE Words high32(Words a, Words b) {
  return _mm512_unpackhi_epi32(a, b);
}
TSR_INLINE Words low64(Words a, Words b) {
  return _mm512_unpacklo_epi64(a, b);
}
TSR_INLINE Words high64(Words a, Words b) {
  return _mm512_unpackhi_epi64(a, b);
}
TSR_INLINE bool exceeds(Words a, int most) {
  return _mm512_cmpgt_epu16_mask(_mm512_abs_epi16(a), _mm512_set1_epi16(static_cast<int16_t>(most))) != 0;
}
TSR_INLINE __m128i row_at(const void* from) {
  return _mm_loadu_si128(static_cast<const __m128i*>(from));
}
TSR_INLINE Words in_all_parts(const void* row) {
  return _mm512_broadcast_i32x4(row_at(row));
}
TSR_INLINE Words row_of_blocks(const int16_t* block) {
  const __m256i left = _mm256_inserti128_si256(_mm256_castsi128_si256(row_at(block)), row_at(block + kBlockValues), 1);
  const __m256i right =
      _mm256_inserti128_si256(_mm256_castsi128_si256(row_at(block + 2 * kBlockValues)), row_at(block + 3 * kBlockValues), 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(left), right, 1);
}
// The first 8 bytes of each part to one row, the last ones to the next.
TSR_INLINE void store_rows(Words rows, uint8_t* to, size_t stride) {
  const Words apart =
      _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), _mm512_add_epi8(rows, _mm512_set1_epi8(-128)));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_castsi512_si256(apart));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + stride), _mm512_extracti64x4_epi64(apart, 1));
}

#else

constexpr int kParts = 2;
using Words = __m256i;
TSR_INLINE Words all(int pair) {
  return _mm256_set1_epi32(pair);
}
TSR_INLINE Words add16(Words a, Words b) {
  return _mm256_add_epi16(a, b);
}
TSR_INLINE Words subtract16(Words a, Words b) {
  return _mm256_sub_epi16(a, b);
}
TSR_INLINE Words multiply16(Words a, Words b) {
  return _mm256_mullo_epi16(a, b);
}
TSR_INLINE Words add32(Words a, Words b) {
  return _mm256_add_epi32(a, b);
}
TSR_INLINE Words subtract32(Words a, Words b) {
  return _mm256_sub_epi32(a, b);
}
TSR_INLINE Words products(Words a, Words b) {
  return _mm256_madd_epi16(a, b);
}
template <int kBits>
TSR_INLINE Words shift_right32(Words a) {
  return _mm256_srai_epi32(a, kBits);
}
TSR_INLINE Words to16(Words a, Words b) {
  return _mm256_packs_epi32(a, b);
}
TSR_INLINE Words to8(Words a, Words b) {
  return _mm256_packs_epi16(a, b);
}
TSR_INLINE Words low8(Words a, Words b) {
  return _mm256_unpacklo_epi8(a, b);
}
TSR_INLINE Words high8(Words a, Words b) {
  return _mm256_unpackhi_epi8(a, b);
}
TSR_INLINE Words low16(Words a, Words b) {
  return _mm256_unpacklo_epi16(a, b);
}
TSR_INLINE Words high16(Words a, Words b) {
  return _mm256_unpackhi_epi16(a, b);
}
TSR_INLINE Words low32(Words a, Words b) {
  return _mm256_unpacklo_epi32(a, b);
}
TSR_INLINE Words high32(Words a, Words b) {
  return _mm256_unpackhi_epi32(a, b);
}
TSR_INLINE Words low64(Words a, Words b) {
  return _mm256_unpacklo_epi64(a, b);
}
TSR_INLINE Words high64(Words a, Words b) {
  return _mm256_unpackhi_epi64(a, b);
}
TSR_INLINE bool exceeds(Words a, int most) {
  const Words bound = _mm256_set1_epi16(static_cast<int16_t>(most));
  return _mm256_movemask_epi8(_mm256_cmpeq_epi16(_mm256_max_epu16(_mm256_abs_epi16(a), bound), bound)) != -1;
}
TSR_INLINE __m128i row_at(const void* from) {
  return _mm_loadu_si128(static_cast<const __m128i*>(from));
}
TSR_INLINE Words in_all_parts(const void* row) {
  return _mm256_broadcastsi128_si256(row_at(row));
}
TSR_INLINE Words row_of_blocks(const int16_t* block) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(row_at(block)), row_at(block + kBlockValues), 1);
}
TSR_INLINE void store_rows(Words rows, uint8_t* to, size_t stride) {
  const Words apart = _mm256_permute4x64_epi64(_mm256_add_epi8(rows, _mm256_set1_epi8(-128)), 0xD8);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(apart));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to + stride), _mm256_extracti128_si256(apart, 1));
}

#endif

// Factors by their values: 13 bits behind the point.
constexpr int kFactorBits = 13;
constexpr int factor(double value) {
  return static_cast<int>(value * (1 << kFactorBits) + 0.5);
}
constexpr int k0298 = factor(0.298631336), k0390 = factor(0.390180644), k0541 = factor(0.541196100),
              k0765 = factor(0.765366865), k0899 = factor(0.899976223), k1175 = factor(1.175875602),
              k1501 = factor(1.501321110), k1847 = factor(1.847759065), k1961 = factor(1.961570560),
              k2053 = factor(2.053119869), k2562 = factor(2.562915447), k3072 = factor(3.072711026);

// Of pairs of numbers of 16 bits, the first times one factor plus the second times another.
TSR_INLINE Words weigh(Words pairs, int first, int second) {
  return products(pairs,
                  all(static_cast<int>((static_cast<uint32_t>(second) << 16) | (static_cast<uint32_t>(first) & 0xFFFF))));
}

// 32 bits of eight numbers: the lower four of each part and the upper ones.
struct Sums {
  Words low, high;
};
TSR_INLINE Sums operator+(Sums a, Sums b) {
  return {add32(a.low, b.low), add32(a.high, b.high)};
}
TSR_INLINE Sums operator-(Sums a, Sums b) {
  return {subtract32(a.low, b.low), subtract32(a.high, b.high)};
}

struct Pairs {
  Words low, high;
  TSR_INLINE Pairs(Words a, Words b) : low(low16(a, b)), high(high16(a, b)) {}
  TSR_INLINE Sums weighed(int first, int second) const { return {weigh(low, first, second), weigh(high, first, second)}; }
};

TSR_INLINE Sums times_one(Words a) {
  const Words zero = all(0);
  return {shift_right32<16 - kFactorBits>(low16(zero, a)), shift_right32<16 - kFactorBits>(high16(zero, a))};
}

template <int kShift>
TSR_INLINE Words rounded(Sums sums) {
  const Words half = all(1 << (kShift - 1));
  return to16(shift_right32<kShift>(add32(sums.low, half)), shift_right32<kShift>(add32(sums.high, half)));
}

// One dimension, across the vectors, as Loeffler, Ligtenberg and Moschytz (1989) compute it with 12 products; with products of
// pairs and their sums in one instruction some are taken twice rather than added.
template <int kShift>
TSR_INLINE void transform(Words* v) {
  const Pairs in26(v[2], v[6]);
  const Sums tmp2 = in26.weighed(k0541, k0541 - k1847), tmp3 = in26.weighed(k0541 + k0765, k0541);
  const Sums tmp0 = times_one(add16(v[0], v[4])), tmp1 = times_one(subtract16(v[0], v[4]));
  const Sums tmp10 = tmp0 + tmp3, tmp13 = tmp0 - tmp3, tmp11 = tmp1 + tmp2, tmp12 = tmp1 - tmp2;

  const Pairs z34(add16(v[7], v[3]), add16(v[5], v[1])), in71(v[7], v[1]), in53(v[5], v[3]);
  const Sums z3 = z34.weighed(k1175 - k1961, k1175), z4 = z34.weighed(k1175, k1175 - k0390);
  const Sums odd0 = in71.weighed(k0298 - k0899, -k0899) + z3, odd3 = in71.weighed(-k0899, k1501 - k0899) + z4;
  const Sums odd1 = in53.weighed(k2053 - k2562, -k2562) + z4, odd2 = in53.weighed(-k2562, k3072 - k2562) + z3;

  v[0] = rounded<kShift>(tmp10 + odd3);
  v[7] = rounded<kShift>(tmp10 - odd3);
  v[1] = rounded<kShift>(tmp11 + odd2);
  v[6] = rounded<kShift>(tmp11 - odd2);
  v[2] = rounded<kShift>(tmp12 + odd1);
  v[5] = rounded<kShift>(tmp12 - odd1);
  v[3] = rounded<kShift>(tmp13 + odd0);
  v[4] = rounded<kShift>(tmp13 - odd0);
}

TSR_INLINE void transpose(Words* v) {
  Words a[8], b[8];
  for (int i = 0; i < 4; ++i) {
    a[2 * i] = low16(v[2 * i], v[2 * i + 1]);
    a[2 * i + 1] = high16(v[2 * i], v[2 * i + 1]);
  }
  for (int i = 0; i < 2; ++i) {
    b[4 * i] = low32(a[4 * i], a[4 * i + 2]);
    b[4 * i + 1] = high32(a[4 * i], a[4 * i + 2]);
    b[4 * i + 2] = low32(a[4 * i + 1], a[4 * i + 3]);
    b[4 * i + 3] = high32(a[4 * i + 1], a[4 * i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    v[2 * i] = low64(b[i], b[i + 4]);
    v[2 * i + 1] = high64(b[i], b[i + 4]);
  }
}

// Columns of eight values to rows of bytes.
TSR_INLINE void store_columns(const Words* v, uint8_t* to, size_t stride) {
  const Words c04 = to8(v[0], v[4]), c15 = to8(v[1], v[5]), c26 = to8(v[2], v[6]), c37 = to8(v[3], v[7]);
  const Words c01 = low8(c04, c15), c45 = high8(c04, c15), c23 = low8(c26, c37), c67 = high8(c26, c37);
  const Words left0 = low16(c01, c23), left4 = high16(c01, c23), right0 = low16(c45, c67), right4 = high16(c45, c67);
  store_rows(low32(left0, right0), to, stride);
  store_rows(high32(left0, right0), to + 2 * stride, stride);
  store_rows(low32(left4, right4), to + 4 * stride, stride);
  store_rows(high32(left4, right4), to + 6 * stride, stride);
}

// Below this, libjpeg-turbo's shorter way for blocks whose other rows are zero gives the same as the long one.
constexpr int kMostFirstRow = 8191;

}  // namespace

bool make_pixels(const int16_t* blocks, const uint16_t* quantizers, int count, uint8_t* to, size_t stride) {
  constexpr int kPassBits = 2;
  bool usual = true;
  for (int i = 0; i < count; i += kParts, blocks += kParts * kBlockValues, to += kParts * 8) {
    Words v[8];
    for (int row = 0; row < 8; ++row) v[row] = multiply16(row_of_blocks(blocks + 8 * row), in_all_parts(quantizers + 8 * row));
    usual &= !exceeds(v[0], kMostFirstRow);
    transform<kFactorBits - kPassBits>(v);
    transpose(v);
    transform<kFactorBits + kPassBits + 3>(v);
    store_columns(v, to, stride);
  }
  return usual;
}

}  // namespace tessera::TSR_SIMD
