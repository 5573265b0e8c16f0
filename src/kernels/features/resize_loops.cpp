// Compiled once per instruction set, see CMakeLists.txt: TSR_SIMD names the set.
#include "kernels/features/resize_loops.h"

#include <type_traits>

#include "kernels/common/stored_number.h"

namespace tessera::TSR_SIMD {
namespace {

// to[c] = the sum over k of weight[k] * from[k * stride + c], four rows at a time: a sum in memory costs more than a product.
template <class S, class T>
TSR_INLINE void weighted_sum(T* __restrict to, const S* __restrict from, int64_t stride, const T* weight, int64_t count,
                             int64_t n) {
  const int64_t odd = count % 4 == 0 ? 4 : count % 4;
  const T w0 = weight[0], w1 = odd > 1 ? weight[1] : T(0), w2 = odd > 2 ? weight[2] : T(0), w3 = odd > 3 ? weight[3] : T(0);
  const S* r1 = from + (odd > 1 ? stride : 0);
  const S* r2 = from + (odd > 2 ? 2 * stride : 0);
  const S* r3 = from + (odd > 3 ? 3 * stride : 0);
  if (odd == 1) {
    for (int64_t c = 0; c < n; ++c) to[c] = w0 * widen(from[c]);
  } else if (odd == 2) {
    for (int64_t c = 0; c < n; ++c) to[c] = w0 * widen(from[c]) + w1 * widen(r1[c]);
  } else {
    for (int64_t c = 0; c < n; ++c) to[c] = (w0 * widen(from[c]) + w1 * widen(r1[c])) + (w2 * widen(r2[c]) + w3 * widen(r3[c]));
  }
  for (int64_t k = odd; k < count; k += 4) {
    const S* __restrict row = from + k * stride;
    const T v0 = weight[k], v1 = weight[k + 1], v2 = weight[k + 2], v3 = weight[k + 3];
    for (int64_t c = 0; c < n; ++c) {
      to[c] += (v0 * widen(row[c]) + v1 * widen(row[c + stride])) +
               (v2 * widen(row[c + 2 * stride]) + v3 * widen(row[c + 3 * stride]));
    }
  }
}

template <class S, class T>
TSR_INLINE void mix(T* __restrict to, const S* __restrict a, const S* __restrict b, T weight, int64_t n) {
  for (int64_t c = 0; c < n; ++c) to[c] = widen(a[c]) + weight * (widen(b[c]) - widen(a[c]));
}

template <class S>
void forward(const ResizeRow<S>& row) {
  using T = Compute<S>;
  const int64_t n = row.channels;
  if (row.stride_x == n) {
    mix(row.scratch, row.top, row.bottom, row.bottom_weight, row.width * n);
  } else {
    for (int64_t x = 0; x < row.width; ++x) {
      mix(row.scratch + x * n, row.top + x * row.stride_x, row.bottom + x * row.stride_x, row.bottom_weight, n);
    }
  }
  for (int64_t x = 0; x < row.out_width; ++x) {
    const T* const a = row.scratch + row.columns.first[x] * n;
    const T* const b = row.scratch + row.columns.second[x] * n;
    const T weight = row.columns.weight[x];
    S* __restrict const out = row.out + x * row.out_stride_x;
    for (int64_t c = 0; c < n; ++c) out[c] = narrow<S>(a[c] + weight * (b[c] - a[c]));
  }
}

template <class S>
void backward(const ResizeGradientRow<S>& row) {
  using T = Compute<S>;
  const int64_t n = row.channels;
  [[maybe_unused]] T* const sum = row.scratch + row.out_width * n;
  if (row.stride_x == n) {
    // A stretch at a time, so that its sums stay in the first cache.
    constexpr int64_t kStretch = 2048;
    for (int64_t c = 0; c < row.out_width * n; c += kStretch) {
      const int64_t left = row.out_width * n - c;
      weighted_sum(row.scratch + c, row.grad_out + c, row.stride_y, row.row_weight, row.rows,
                   left < kStretch ? left : kStretch);
    }
  } else {
    for (int64_t x = 0; x < row.out_width; ++x) {
      weighted_sum(row.scratch + x * n, row.grad_out + x * row.stride_x, row.stride_y, row.row_weight, row.rows, n);
    }
  }
  for (int64_t x = 0; x < row.width; ++x) {
    const int64_t begin = row.columns.begin[x], count = row.columns.end[x] - begin;
    S* __restrict const out = row.out + x * n;
    if (count == 0) {
      for (int64_t c = 0; c < n; ++c) out[c] = S{};
      continue;
    }
    const T* const weight = row.columns.weight + row.columns.offset[x];
    if constexpr (std::is_same_v<S, T>) {
      weighted_sum<T, T>(out, row.scratch + begin * n, n, weight, count, n);
    } else {
      weighted_sum<T, T>(sum, row.scratch + begin * n, n, weight, count, n);
      for (int64_t c = 0; c < n; ++c) out[c] = narrow<S>(sum[c]);
    }
  }
}

}  // namespace

extern const ResizeLoops<float> kResizeFloat;
extern const ResizeLoops<double> kResizeDouble;
extern const ResizeLoops<uint16_t> kResizeBFloat16;
constinit const ResizeLoops<float> kResizeFloat{forward<float>, backward<float>};
constinit const ResizeLoops<double> kResizeDouble{forward<double>, backward<double>};
constinit const ResizeLoops<uint16_t> kResizeBFloat16{forward<uint16_t>, backward<uint16_t>};

}  // namespace tessera::TSR_SIMD
