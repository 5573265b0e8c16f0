#include "data/simd/loop_set.h"
#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace tessera::TSR_SIMD {

void add_row(uint8_t* to, const uint8_t* above, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = static_cast<uint8_t>(to[i] + above[i]);
}

void add_left(uint8_t* row, size_t count, size_t unit) {
  size_t i = unit;
#ifdef __SSE2__
  // Pixels of one byte, 16 at a time: sums of 2, 4, 8 and 16 neighbours, and the last value before them.
  if (unit == 1) {
    __m128i last = _mm_setzero_si128();
    for (i = 0; i + 16 <= count; i += 16) {
      __m128i sum = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row + i));
      sum = _mm_add_epi8(sum, _mm_slli_si128(sum, 1));
      sum = _mm_add_epi8(sum, _mm_slli_si128(sum, 2));
      sum = _mm_add_epi8(sum, _mm_slli_si128(sum, 4));
      sum = _mm_add_epi8(sum, _mm_slli_si128(sum, 8));
      sum = _mm_add_epi8(sum, last);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(row + i), sum);
      last = _mm_set1_epi8(static_cast<char>(row[i + 15]));
    }
    if (i == 0) i = 1;
  }
#endif
  for (; i < count; ++i) row[i] = static_cast<uint8_t>(row[i] + row[i - unit]);
}

}  // namespace tessera::TSR_SIMD
