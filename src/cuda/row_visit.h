#pragma once
#include "cuda/column_sums.h"
#include "cuda/launch.h"

namespace tessera {

// How a block goes through the rows of a matrix: a lane stays in its kSize columns, so that what belongs to a column lives in
// registers, and the block's warps take rows in turn.
inline constexpr int kVisitWarps = 8;
inline constexpr int kVisitRows = 128;  // of a block; fixed: the order of sums must not depend on the GPU

template <int kSize>
__device__ __forceinline__ int visit_column() {
  return (static_cast<int>(blockIdx.x) * 32 + static_cast<int>(threadIdx.x) % 32) * kSize;
}

// For each row of this warp: take(row, load(row)). kAhead loads are under way at a time: memory is far away.
template <int kAhead, class Load, class Take>
__device__ __forceinline__ void visit_rows(int64_t rows, const Load& load, const Take& take) {
  const int64_t begin = static_cast<int64_t>(blockIdx.y) * kVisitRows,
                end = begin + kVisitRows < rows ? begin + kVisitRows : rows;
  int64_t row = begin + threadIdx.x / 32;
  for (; row + (kAhead - 1) * kVisitWarps < end; row += kAhead * kVisitWarps) {
    decltype(load(row)) loaded[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) loaded[i] = load(row + i * kVisitWarps);
#pragma unroll
    for (int i = 0; i < kAhead; ++i) take(row + i * kVisitWarps, loaded[i]);
  }
  for (; row < end; row += kVisitWarps) take(row, load(row));
}

// Adds up what the block's warps have for each column: parts is (blocks of rows, width). All threads of the block call it.
template <int kSize, class C>
__device__ __forceinline__ void leave_sums(const C (&sum)[kSize], C* parts, int width) {
  __shared__ C sums[kVisitWarps][32 * kSize];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, column = visit_column<kSize>();
  for (int k = 0; k < kSize; ++k) sums[warp][k * 32 + lane] = sum[k];
  __syncthreads();
  if (warp > 0 || column >= width) return;
  for (int k = 0; k < kSize; ++k) {
    C total = 0;
    for (int w = 0; w < kVisitWarps; ++w) total += sums[w][k * 32 + lane];
    parts[static_cast<int64_t>(blockIdx.y) * width + column + k] = total;
  }
}

inline dim3 visit_grid(int64_t rows, int64_t width, int size) {
  return dim3(blocks_for(width, 32 * size), blocks_for(rows, kVisitRows));
}

}  // namespace tessera
