#pragma once
#include <type_traits>

#include "kernels/common/simd_math.h"
#include "kernels/norm/norm_tile.h"

#define TSR_INLINE_LAMBDA __attribute__((always_inline))

// How the loops of norm_loops.cpp go through a tile. Rows of few channels do not fill vectors, so several rows are taken
// together: `width` values, a multiple of a vector. Where that would be long, rows are taken one by one and the last vector
// begins earlier, over values of the one before it: all loops may do a value twice.
namespace tessera::TSR_SIMD {

template <class T>
inline constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

template <class T>
inline constexpr int64_t kLongest = 32 * kLanes<T>;  // of rows taken together, in values

template <class T>
int64_t norm_width(int64_t channels) {
  int64_t rows = 1;
  while (rows * channels % kLanes<T> != 0) ++rows;
  if (rows * channels > kLongest<T>) return channels;
  // Sums over one vector would wait for one another.
  while (rows * channels < 4 * kLanes<T>) rows *= 2;
  return rows * channels;
}

struct BFloat16Bits {
  uint16_t bits;
};
template <int L>
struct BFloat16Lanes {
  typedef uint16_t Half __attribute__((vector_size(L * sizeof(uint16_t))));
  typedef uint32_t Whole __attribute__((vector_size(L * sizeof(uint32_t))));
};

template <class T, int L>
TSR_INLINE V<T, L> read(const T* from) {
  return load<T, L>(from);
}
template <class T, int L>
TSR_INLINE V<T, L> read(const BFloat16Bits* from) {
  using Half = typename BFloat16Lanes<L>::Half;
  using Whole = typename BFloat16Lanes<L>::Whole;
  Half half;
  std::memcpy(&half, from, sizeof half);
  return reinterpret_cast<V<T, L>>(__builtin_convertvector(half, Whole) << 16);
}

template <class T, int L>
TSR_INLINE void write(T* to, V<T, L> v) {
  store<T, L>(to, v);
}
// Rounds to nearest, ties to even; a NaN stays one.
template <class T, int L>
TSR_INLINE void write(BFloat16Bits* to, V<T, L> v) {
  using Half = typename BFloat16Lanes<L>::Half;
  using Whole = typename BFloat16Lanes<L>::Whole;
  const Whole bits = reinterpret_cast<Whole>(v);
  const Whole rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16, quiet = (bits >> 16) | 0x40;
  const Half half = __builtin_convertvector(v == v ? rounded : quiet, Half);
  std::memcpy(to, &half, sizeof half);
}

template <class T, class S>
TSR_INLINE T read_one(const S* from) {
  if constexpr (std::is_same_v<S, T>) {
    return *from;
  } else {
    const uint32_t bits = static_cast<uint32_t>(from->bits) << 16;
    T value;
    std::memcpy(&value, &bits, sizeof bits);
    return value;
  }
}

// The first `count` lanes; the others are those of `rest`.
template <class T, class S>
TSR_INLINE V<T, kLanes<T>> read_some(const S* from, int64_t count, V<T, kLanes<T>> rest) {
  alignas(64) T lanes[kLanes<T>];
  store<T, kLanes<T>>(lanes, rest);
  for (int64_t i = 0; i < count; ++i) lanes[i] = read_one<T>(from + i);
  return load<T, kLanes<T>>(lanes);
}
template <class T, class S>
TSR_INLINE void write_some(S* to, int64_t count, V<T, kLanes<T>> v) {
  S lanes[kLanes<T>];
  write<T, kLanes<T>>(lanes, v);
  std::memcpy(to, lanes, static_cast<size_t>(count) * sizeof(S));
}

// A vector of values at `at`, of which the tile has `count`.
template <class T, class S>
struct Span {
  int64_t at, count;
  static constexpr int L = kLanes<T>;

  TSR_INLINE V<T, L> of(const void* from, V<T, L> rest = V<T, L>{}) const {
    const S* values = static_cast<const S*>(from) + at;
    return count >= L ? read<T, L>(values) : read_some<T, S>(values, count, rest);
  }
  TSR_INLINE void put(void* to, V<T, L> v) const {
    S* values = static_cast<S*>(to) + at;
    count >= L ? write<T, L>(values, v) : write_some<T, S>(values, count, v);
  }
};

// Calls work(span, column) for all values, in order of memory; `column`: where the tables have the span's numbers.
template <class T, class S, class Work>
TSR_INLINE void for_each_vector(const NormTile<T>& tile, Work&& work) {
  constexpr int L = kLanes<T>;
  const int64_t total = tile.rows * tile.channels, width = tile.channels == 1 ? L : tile.width;
  int64_t at = 0;
  for (; at + width <= total; at += width) {
    int64_t column = 0;
    for (; column + L <= width; column += L) work(Span<T, S>{at + column, L}, column);
    if (column < width) work(Span<T, S>{at + width - L, L}, width - L);
  }
  for (int64_t column = 0; at + column < total; column += L) work(Span<T, S>{at + column, total - at - column}, column);
}

// Calls work(i, span) for the values of vector i of the `N` from `column` on, of all rows.
template <int N, class T, class S, class Work>
TSR_INLINE void for_each_row(const NormTile<T>& tile, int64_t column, Work&& work) {
  constexpr int L = kLanes<T>;
  const int64_t total = tile.rows * tile.channels;
  int64_t at = 0;
  for (; at + tile.width <= total; at += tile.width) {
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) work(i, Span<T, S>{at + column + i * L, L});
  }
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) {
    const int64_t from = at + column + i * L;
    if (from < total) work(i, Span<T, S>{from, total - from});
  }
}

// Calls block(std::integral_constant<int, N>, column) so that N vectors from each column on are all of a row.
template <int kMost, class T, class Block>
TSR_INLINE void for_each_block(const NormTile<T>& tile, Block&& block) {
  constexpr int L = kLanes<T>;
  int64_t column = 0;
  for (; column + kMost * L <= tile.width; column += kMost * L) block(std::integral_constant<int, kMost>{}, column);
  if constexpr (kMost > 4) {
    for (; column + 4 * L <= tile.width; column += 4 * L) block(std::integral_constant<int, 4>{}, column);
  }
  for (; column + 2 * L <= tile.width; column += 2 * L) block(std::integral_constant<int, 2>{}, column);
  for (; column + L <= tile.width; column += L) block(std::integral_constant<int, 1>{}, column);
  if (column < tile.width) block(std::integral_constant<int, 1>{}, tile.width - L);
}

}  // namespace tessera::TSR_SIMD
