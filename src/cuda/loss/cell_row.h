#pragma once
#include "cuda/loss/cell_corners.h"

namespace tessera {

// A row of a cell's pixels, in registers, K classes a lane: logits as CellCorners has them, and the gradient that the row's
// pixels have left and right of it.
template <class T, int K>
struct CellRow {
  T left[K], step[K];  // at the left corners, and from there to the right ones
  T grad[2][K];

  __device__ __forceinline__ void begin(const CellCorners<T, K>& corners, T down) {
    corners.interpolate(down, left, step);
#pragma unroll
    for (int k = 0; k < K; ++k) grad[0][k] = grad[1][k] = 0;
  }

  // The lane's part of the sum of a pixel's exponentials; e: its own. extra: below the bound, in powers of 2.
  __device__ T exponentials(T right, T extra, T (&e)[K]) const {
    T sum = 0;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      e[k] = exp2_fast(left[k] + right * step[k] - extra);
      sum += e[k];
    }
    return sum;
  }
  // The largest of a pixel's logits, over the whole warp.
  __device__ T largest(T right) const {
    T most = kNoLogit<T>;
#pragma unroll
    for (int k = 0; k < K; ++k) most = fmax(most, left[k] + right * step[k]);
    return warp_max(most);
  }
};

}  // namespace tessera
