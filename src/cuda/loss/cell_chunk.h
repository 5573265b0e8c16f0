#pragma once
#include "cuda/common/launch.h"

namespace tessera {

// The pixels of a cell that a warp's lanes take together: some of its rows, whose width is rounded up to a power of 2 so that
// every four pixels of a row have slots of their own. Of a cell wider than a warp a row is taken in several chunks.
struct CellChunk {
  int column, x_begin, x_end, y_end;  // of the cell
  int x, y;

  __device__ int width() const { return x_end - x < 32 ? x_end - x : 32; }
  __device__ int row_bits() const {
    const int all = x_end - x_begin;
    return all <= 4 ? 2 : all <= 8 ? 3 : all <= 16 ? 4 : 5;
  }
  __device__ int rows() const { return 32 >> row_bits(); }
  __device__ int own_x(int lane) const { return x + (lane & ((1 << row_bits()) - 1)); }
  __device__ int own_y(int lane) const { return y + (lane >> row_bits()); }
  __device__ bool has(int lane) const { return own_x(lane) < x_end && own_y(lane) < y_end; }

  __device__ bool empty() const { return x >= x_end || y >= y_end; }
  __device__ void advance() {
    x += 32;
    if (x < x_end) return;
    x = x_begin;
    y += rows();
  }
};

}  // namespace tessera
