#pragma once
#include "cuda/loss/classifier_arguments.h"

namespace tessera {

inline constexpr int kClassifierWarps = 4;  // of a block
inline constexpr int kWarpPixels = 16;      // a warp's at a time
inline constexpr int kBlockPixels = kClassifierWarps * kWarpPixels;

// Whether the pixels' kernel also adds up the gradients of weight and bias: the sums need registers, the logits' gradients
// shared memory (a block may have 99 KB of it on GPUs for desktops). For other sizes the weights' kernel computes the logits
// again.
template <int kClasses, int kChannels>
inline constexpr bool kAddsWeights = kClasses <= 2 || (kClasses <= 5 && kChannels <= 2);

// A lane's sums of the gradients of weight and bias over the block's pixels. A warp adds up all channels of a quarter of the
// classes: part `warp` of each 32, so that none is idle when the last are filled up. C has channels down, classes across; A are
// the features and B the logits' gradients, both turned as they are loaded. The bias takes the gradients before they are
// rounded, of all classes, where they are made.
template <class S, int kClasses, int kChannels>
struct WeightSums {
  static constexpr int kTiles = 4 * kClasses;
  using LogitGrads = Words[kBlockPixels * kTiles];
  float weight[2 * kChannels][kClasses][4] = {};
  float bias[kTiles][2] = {};

  __device__ __forceinline__ void add_bias(const float (&grad_logits)[kTiles][4]) {
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
#pragma unroll
      for (int j = 0; j < 2; ++j) bias[t][j] += grad_logits[t][j] + grad_logits[t][2 + j];
    }
  }
  // Puts down the rounded gradients of the warp's pixels: the A of products, two tiles of 8 classes each.
  static __device__ __forceinline__ void keep(const unsigned (&grad_logits)[kTiles / 2][4], LogitGrads& kept) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
    for (int t = 0; t < kTiles / 2; ++t) {
      const int place = word_place<kClasses>(lane % 16, t / 2, t % 2 * 2 + lane / 16);
      store_tiles(kept + warp * kWarpPixels * kTiles + place, grad_logits[t]);
    }
  }
  // After a barrier: the block's pixels, as all its warps have put them down.
  __device__ __forceinline__ void add_weight(const Words* features, const LogitGrads& kept) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
    for (int first = 0; first < kBlockPixels; first += 32) {
      unsigned grad_logits[kClasses][4];  // B of 16 pixels, and of the next 16
#pragma unroll
      for (int g = 0; g < kClasses; ++g)
        load_turned(grad_logits[g], kept + first * kTiles + word_place<kClasses>(lane, g, warp));
#pragma unroll
      for (int k = 0; k < 2; ++k) {
#pragma unroll
        for (int m = 0; m < 2 * kChannels; ++m) {
          unsigned x[4];
          const int row = lane / 16 * 8 + lane % 8, part = m % 2 * 2 + lane / 8 % 2;
          load_turned(x, features + (first + 16 * k) * kChannels * 4 + word_place<kChannels>(row, m / 2, part));
#pragma unroll
          for (int g = 0; g < kClasses; ++g)
            multiply_tiles<S>(weight[m][g], x, grad_logits[g][2 * k], grad_logits[g][2 * k + 1]);
        }
      }
    }
  }
  // Writes the block's sums, classes x channels and then classes; `kept` is free for use.
  __device__ __forceinline__ void store(const ClassifierArguments& a, float* to, LogitGrads& kept) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32, r = lane / 4, q = lane % 4;
#pragma unroll
    for (int g = 0; g < kClasses; ++g) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int c = 32 * g + 8 * warp + 2 * q + k % 2;
        if (c >= a.classes) continue;
#pragma unroll
        for (int m = 0; m < 2 * kChannels; ++m) {
          const int channel = 16 * m + k / 2 * 8 + r;
          if (channel < a.channels) to[c * a.channels + channel] = weight[m][g][k];
        }
      }
    }
    float* const sums = reinterpret_cast<float*>(kept);  // (warps, classes)
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        float sum = bias[t][j];
        for (int distance = 4; distance < 32; distance *= 2) sum += __shfl_xor_sync(kAllLanes, sum, distance);
        if (r == 0) sums[warp * 8 * kTiles + 8 * t + 2 * q + j] = sum;
      }
    }
    __syncthreads();
    for (int c = static_cast<int>(threadIdx.x); c < a.classes; c += 32 * kClassifierWarps) {
      float sum = 0;
#pragma unroll
      for (int w = 0; w < kClassifierWarps; ++w) sum += sums[w * 8 * kTiles + c];
      to[a.classes * a.channels + c] = sum;
    }
  }
};

}  // namespace tessera
