#pragma once
#include "cuda/common/launch.h"

namespace tessera {

inline constexpr int kColumnWarps = 16;

// out[c] = sum over r of parts[r, c], in a fixed order: what blocks leave behind of a sum over rows. A block has 32 columns;
// its warps take rows in turn.
template <class T>
__global__ void __launch_bounds__(32 * kColumnWarps) column_sums_kernel(const T* parts, T* out, int64_t rows, int64_t columns) {
  __shared__ T sums[kColumnWarps][32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int64_t column = static_cast<int64_t>(blockIdx.x) * 32 + lane;
  T sum = 0;
  if (column < columns) {
#pragma unroll 8
    for (int64_t row = warp; row < rows; row += kColumnWarps) sum += parts[row * columns + column];
  }
  sums[warp][lane] = sum;
  __syncthreads();
  if (warp > 0 || column >= columns) return;
  for (int w = 1; w < kColumnWarps; ++w) sum += sums[w][lane];
  out[column] = sum;
}

template <class T>
void column_sums(const T* parts, T* out, int64_t rows, int64_t columns) {
  launch(column_sums_kernel<T>, static_cast<unsigned>((columns + 31) / 32), 32 * kColumnWarps, 0, parts, out, rows, columns);
}

}  // namespace tessera
