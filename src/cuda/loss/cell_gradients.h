#pragma once
#include "cuda/loss/cell_labels.h"

namespace tessera {

// The gradients of a cell's corners, in registers, K classes a lane.
template <class T, int K>
class CellGradients {
 public:
  __device__ void clear_right() {
#pragma unroll
    for (int k = 0; k < K; ++k) at_[1][0][k] = at_[1][1][k] = 0;
  }
  // The right corners become the left ones of the next cell.
  __device__ void move_right() {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      at_[0][0][k] = at_[1][0][k];
      at_[0][1][k] = at_[1][1][k];
    }
    clear_right();
  }

  // Adds the gradients of a row of pixels, left and right of it.
  __device__ __forceinline__ void add_row(T down, const T (&row)[2][K]) {
#pragma unroll
    for (int side = 0; side < 2; ++side) {
#pragma unroll
      for (int k = 0; k < K; ++k) {
        at_[side][0][k] += (T(1) - down) * row[side][k];
        at_[side][1][k] += down * row[side][k];
      }
    }
  }
  __device__ void add_labels(LabelParts<T, K>& labels, int lane) {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const CornerParts<T> parts = labels.take(lane + 32 * k);
#pragma unroll
      for (int i = 0; i < 4; ++i) at_[i / 2][i % 2][k] += parts.value[i];
    }
    __syncwarp();
  }
  // Adds to the gradients of the lane's k-th class.
  __device__ void add(int k, T factor, const CornerParts<T>& parts) {
#pragma unroll
    for (int i = 0; i < 4; ++i) at_[i / 2][i % 2][k] += factor * parts.value[i];
  }

  // Writes the gradients of the upper and the lower corner of a side, 0 left and 1 right: (2, classes).
  __device__ void write(int side, T* to, int first, int classes) const {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int c = first + 32 * k;
      if (c >= classes) continue;
      to[c] = at_[side][0][k];
      to[classes + c] = at_[side][1][k];
    }
  }

 private:
  T at_[2][2][K];  // [left, right][upper, lower]
};

}  // namespace tessera
