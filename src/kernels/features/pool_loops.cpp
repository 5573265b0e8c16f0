// Compiled once per instruction set, see CMakeLists.txt: TSR_SIMD names the set.
#include "kernels/features/pool_loops.h"

#include "kernels/common/stored_number.h"

namespace tessera::TSR_SIMD {
namespace {

template <class S, class T>
void sum_pixels(const S* from, int64_t stride_y, int64_t stride_x, int64_t rows, int64_t columns, int64_t channels,
                T* __restrict sum) {
  for (int64_t c = 0; c < channels; ++c) sum[c] = T(0);
  for (int64_t y = 0; y < rows; ++y, from += stride_y) {
    const S* __restrict a = from;
    int64_t x = 0;
    for (; x + 4 <= columns; x += 4, a += 4 * stride_x) {  // four at a time: a sum in memory costs more than an addition
      const S* __restrict b = a + stride_x;
      const S* __restrict d = b + stride_x;
      const S* __restrict e = d + stride_x;
      for (int64_t c = 0; c < channels; ++c) sum[c] += (widen(a[c]) + widen(b[c])) + (widen(d[c]) + widen(e[c]));
    }
    for (; x < columns; ++x, a += stride_x) {
      for (int64_t c = 0; c < channels; ++c) sum[c] += widen(a[c]);
    }
  }
}

template <class S, class T>
void add(const S* __restrict from, T scale, int64_t channels, T* __restrict to) {
  for (int64_t c = 0; c < channels; ++c) to[c] += scale * widen(from[c]);
}

template <class S, class T>
void fill_pixels(const T* __restrict from, T scale, int64_t pixels, int64_t channels, S* __restrict to) {
  for (int64_t c = 0; c < channels; ++c) to[c] = narrow<S>(scale * from[c]);
  for (int64_t p = 1; p < pixels; ++p) std::memcpy(to + p * channels, to, static_cast<size_t>(channels) * sizeof(S));
}

template <class S>
constexpr PoolLoops<S> pool_loops() {
  using T = Compute<S>;
  return {sum_pixels<S, T>, add<T, T>, add<S, T>, fill_pixels<S, T>};
}

}  // namespace

extern const PoolLoops<float> kPoolFloat;
extern const PoolLoops<double> kPoolDouble;
extern const PoolLoops<uint16_t> kPoolBFloat16;
constinit const PoolLoops<float> kPoolFloat = pool_loops<float>();
constinit const PoolLoops<double> kPoolDouble = pool_loops<double>();
constinit const PoolLoops<uint16_t> kPoolBFloat16 = pool_loops<uint16_t>();

}  // namespace tessera::TSR_SIMD
