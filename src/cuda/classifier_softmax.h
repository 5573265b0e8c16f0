#pragma once
#include "cuda/classifier_arguments.h"

namespace tessera {

__device__ __forceinline__ float quad_sum(float value) {
  value += __shfl_xor_sync(kAllLanes, value, 1);
  return value + __shfl_xor_sync(kAllLanes, value, 2);
}
__device__ __forceinline__ float quad_max(float value) {
  value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, 1));
  return fmaxf(value, __shfl_xor_sync(kAllLanes, value, 2));
}

// Where a lane's two pixels have their labels. Few of a warp's tiles of 8 classes hold one, and only those are looked through.
struct LabelPlaces {
  unsigned tiles = 0;  // of all lanes
  int place[2];        // from the lane's first class

  __device__ __forceinline__ LabelPlaces(const PixelTarget (&targets)[2]) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int label = targets[h].label;
      if (label >= 0) tiles |= 1u << label / 8;
      place[h] = label - 2 * (static_cast<int>(threadIdx.x) % 4);
    }
#ifdef __CUDA_ARCH__
    tiles = __reduce_or_sync(kAllLanes, tiles);
#else
    for (int distance = 1; distance < 32; distance *= 2) tiles |= __shfl_xor_sync(kAllLanes, tiles, distance);
#endif
  }
  // work(pixel, number) for the numbers at the labels that the lane has.
  template <int kTiles, class Work>
  __device__ __forceinline__ void visit(float (&z)[kTiles][4], const Work& work) const {
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      if ((tiles >> t & 1) == 0) continue;
#pragma unroll
      for (int h = 0; h < 2; ++h) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          if (place[h] == 8 * t + j) work(h, z[t][2 * h + j]);
        }
      }
    }
  }
};

// Turns row kRow (0: r, 1: r + 8) of the logits into weight * softmax - spread; returns the lane's part of what the pixel adds
// to the cross entropy, but for the logit at the label.
template <int kRow, int kTiles>
__device__ __forceinline__ float softmax_row(float (&z)[kTiles][4], const PixelTarget& target, float smoothing,
                                             const float* spread, float& shift) {
  const int q = static_cast<int>(threadIdx.x) % 4;
  float most = z[0][2 * kRow], spreads = 0;
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
#pragma unroll
    for (int j = 0; j < 2; ++j) most = fmaxf(most, z[t][2 * kRow + j]);  // skips what is not a number, which the sum then is
  }
  const bool spreads_out = smoothing > 0 && target.label >= 0;
  if (spreads_out) {
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
#pragma unroll
      for (int j = 0; j < 2; ++j) spreads += spread[8 * t + 2 * q + j] * z[t][2 * kRow + j];
    }
  }
  most = quad_max(most);
  const float bound = most * kClassifierLog2E;
  float sum[2] = {0, 0};
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      float& e = z[t][2 * kRow + j];
      e = exp2_fast(e * kClassifierLog2E - bound);
      sum[j] += e;
    }
  }
  const float total = quad_sum(sum[0] + sum[1]), factor = divide_fast(target.mass, total);
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
#pragma unroll
    for (int j = 0; j < 2; ++j) z[t][2 * kRow + j] *= factor;
  }
  if (spreads_out) {
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
#pragma unroll
      for (int j = 0; j < 2; ++j) z[t][2 * kRow + j] -= spread[8 * t + 2 * q + j];
    }
  }
  shift = bound - log2f(factor);
  return q == 0 && target.label >= 0 ? target.mass * (most + kClassifierLn2 * log2f(total)) - spreads : -spreads;
}

}  // namespace tessera
