#pragma once
#include "cuda/common/column_sums.h"
#include "cuda/common/launch.h"

namespace tessera {

// How a block goes through the rows of a matrix: a lane stays in its kSize columns, so that what belongs to a column lives in
// registers, and the block's warps take rows in turn.
inline constexpr int kVisitWarps = 8;
inline constexpr int kVisitRows = 128;  // of a block; fixed: the order of sums must not depend on the GPU

// Blocks of rows. Those that a grid's second dimension has no room for go on in the third; the last few may then be without
// rows, and leave sums of 0.
inline constexpr int64_t kMostInDimension = 65535;
inline int64_t visit_blocks(int64_t rows) {
  const int64_t blocks = blocks_for(rows, kVisitRows), layers = blocks_for(blocks, kMostInDimension);
  return layers * blocks_for(blocks, layers);
}
inline dim3 visit_grid(int64_t rows, int64_t width, int size) {
  const int64_t blocks = visit_blocks(rows), layers = blocks_for(blocks, kMostInDimension);
  return dim3(blocks_for(width, 32 * size), static_cast<unsigned>(blocks / layers), static_cast<unsigned>(layers));
}
__device__ __forceinline__ int64_t visit_block() {
  return static_cast<int64_t>(blockIdx.z) * gridDim.y + blockIdx.y;
}

template <int kSize>
__device__ __forceinline__ int visit_column() {
  return (static_cast<int>(blockIdx.x) * 32 + static_cast<int>(threadIdx.x) % 32) * kSize;
}

// Calls take(row, load(row)) for each row of this warp. kAhead loads are under way at a time: memory is far away.
template <int kAhead, class Load, class Take>
__device__ __forceinline__ void visit_rows(int64_t rows, const Load& load, const Take& take) {
  const int64_t begin = visit_block() * kVisitRows, end = begin + kVisitRows < rows ? begin + kVisitRows : rows;
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
    parts[visit_block() * width + column + k] = total;
  }
}

}  // namespace tessera
