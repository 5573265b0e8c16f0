#pragma once
#include "cuda/loss/classifier_arguments.h"

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
    for (int group = 0; group < kTiles; group += 4) {
      if ((tiles >> group & 15) == 0) continue;
#pragma unroll
      for (int t = group; t < group + 4; ++t) {
        if ((tiles >> t & 1) == 0) continue;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          if (place[k / 2] == 8 * t + k % 2) work(k / 2, z[t][k]);
        }
      }
    }
  }
};

// Turns the logits of a lane's two pixels into weight * softmax - spread; returns the lane's part of what they add to the cross
// entropy, but for the logits at the labels. Both at once: neither's chains of maxima and sums would keep a GPU busy.
template <int kTiles>
__device__ __forceinline__ float softmax_rows(float (&z)[kTiles][4], const PixelTarget (&targets)[2], float smoothing,
                                              const float* spread, float (&shift)[2]) {
  const int q = static_cast<int>(threadIdx.x) % 4;
  const auto spread_of = [&](int t) { return load_pack<2>(spread + 8 * t + 2 * q); };
  float most[4] = {z[0][0], z[0][1], z[0][2], z[0][3]}, sum[4] = {0, 0, 0, 0}, value = 0;
#pragma unroll
  for (int t = 1; t < kTiles; ++t) {
#pragma unroll
    for (int k = 0; k < 4; ++k) most[k] = fmaxf(most[k], z[t][k]);  // skips what is not a number, which the sum then is
  }
  if (smoothing > 0) {
    float spreads[2] = {0, 0};
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      const Pack<float, 2> by = spread_of(t);
#pragma unroll
      for (int k = 0; k < 4; ++k) spreads[k / 2] += by.value[k % 2] * z[t][k];
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) value -= targets[h].label >= 0 ? spreads[h] : 0;
  }
  float factor[2], bound[2];
#pragma unroll
  for (int h = 0; h < 2; ++h) bound[h] = kClassifierLog2E * quad_max(fmaxf(most[2 * h], most[2 * h + 1]));
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      z[t][k] = exp2_fast(z[t][k] * kClassifierLog2E - bound[k / 2]);
      sum[k] += z[t][k];
    }
  }
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float total = quad_sum(sum[2 * h] + sum[2 * h + 1]);
    factor[h] = divide_fast(targets[h].mass, total);
    shift[h] = bound[h] - log2f(factor[h]);
    if (q == 0 && targets[h].label >= 0) value += targets[h].mass * kClassifierLn2 * (bound[h] + log2f(total));
  }
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
#pragma unroll
    for (int k = 0; k < 4; ++k) z[t][k] *= factor[k / 2];
  }
  if (smoothing > 0) {
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      const Pack<float, 2> by = spread_of(t);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        if (targets[k / 2].label >= 0) z[t][k] -= by.value[k % 2];
      }
    }
  }
  return value;
}

}  // namespace tessera
