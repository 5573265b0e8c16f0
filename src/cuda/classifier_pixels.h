#pragma once
#include "cuda/async_copy.h"
#include "cuda/classifier_arguments.h"

namespace tessera {

inline constexpr int kClassifierWarps = 4;    // of a block
inline constexpr int kWarpPixels = 16;        // a warp's at a time
inline constexpr int kClassifierRounds = 32;  // how often a warp goes on to other pixels: what all need is loaded once

struct ClassifierOutput {
  double* values;         // (images, tiles): cross entropy of the pixels of each warp's tile
  PixelSoftmax* softmax;  // (N H W)
  uint16_t* gradient;     // of the features
  const double* scale;    // null: 1; of the gradient
  int tiles;              // of an image
};

// Both forms of the weights in shared memory, for kClasses x 32 classes and kChannels x 32 channels, zeros around what there
// is. `turned` has a row for each channel; classes are in the order in which a lane's words of B follow one another.
template <int kClasses, int kChannels>
struct ClassifierMemory {
  Words weight[32 * kClasses * kChannels * 4];
  Words turned[32 * kChannels * kClasses * 4];
  float bias[32 * kClasses], spread[32 * kClasses];

  __device__ void load(const ClassifierArguments& a) {
    const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
    for (int i = thread; i < 32 * kClasses * kChannels * 4; i += threads) {
      const int row = i / (kChannels * 4), chunk = i % (kChannels * 4);
      const bool there = row < a.classes && chunk * 8 < a.channels;
      weight[word_place<kChannels>(row, chunk / 4, chunk % 4)] =
          there ? load_words(a.weight + static_cast<int64_t>(row) * a.channels + chunk * 8) : Words{};
    }
    for (int i = thread; i < 32 * kChannels * kClasses * 4; i += threads) {
      const int row = i % (32 * kChannels), chunk = i / (32 * kChannels);
      Words words;
#pragma unroll
      for (int t = 0; t < 4; ++t) {
        const int c = chunk / 4 * 32 + 8 * t + chunk % 4 * 2;
        const bool inside = row < a.channels;
        const unsigned first = inside && c < a.classes ? a.weight[c * a.channels + row] : 0u;
        const unsigned second = inside && c + 1 < a.classes ? a.weight[(c + 1) * a.channels + row] : 0u;
        words.value[t] = first | second << 16;
      }
      turned[word_place<kClasses>(row, chunk / 4, chunk % 4)] = words;
    }
    for (int c = thread; c < 32 * kClasses; c += threads) {
      bias[c] = c < a.classes ? a.bias[c] : kNoClass;
      spread[c] = c < a.classes ? a.spread(c) : 0;
    }
  }
};

// The features of a warp's 16 pixels, as A: lane 4 r + q has 8 neighbouring channels of pixels r and r + 8 for each 32.
template <int kChannels>
struct PixelFeatures {
  Words row[2][kChannels];

  __device__ __forceinline__ void load(const ClassifierArguments& a, int64_t pixel, int left) {
    const int lane = static_cast<int>(threadIdx.x) % 32, r = lane / 4, q = lane % 4;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int j = 0; j < kChannels; ++j) {
        const bool there = r + 8 * h < left && 32 * j + 8 * q < a.channels;
        row[h][j] = there ? load_words(a.features + (pixel + r + 8 * h) * a.channels + 32 * j + 8 * q) : Words{};
      }
    }
  }
};

// Of the 16 pixels that come next: registers are too few to load them already.
__device__ __forceinline__ void ask_for_features(const ClassifierArguments& a, int64_t pixel) {
  constexpr int kLine = 64;  // numbers
  const int lane = static_cast<int>(threadIdx.x) % 32, row = lane % 16;
  for (int channel = lane / 16 * kLine; channel < a.channels; channel += 2 * kLine) {
    if (pixel + row < static_cast<int64_t>(a.images) * a.image_pixels)
      prefetch(a.features + (pixel + row) * a.channels + channel);
  }
}

__device__ __forceinline__ float quad_sum(float value) {
  value += __shfl_xor_sync(kAllLanes, value, 1);
  return value + __shfl_xor_sync(kAllLanes, value, 2);
}
__device__ __forceinline__ float quad_max(float value) {
  value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, 1));
  return fmaxf(value, __shfl_xor_sync(kAllLanes, value, 2));
}

// Turns row kRow (0: r, 1: r + 8) of the logits into their gradient; returns the lane's part of the cross entropy.
template <int kRow, int kTiles>
__device__ __forceinline__ float softmax_row(float (&z)[kTiles][4], const PixelTarget& target, float smoothing,
                                             const float* spread, float& shift) {
  const int q = static_cast<int>(threadIdx.x) % 4;
  const int place = target.label - 2 * q;  // of the label, from the lane's first class
  float most = z[0][2 * kRow], at_label = 0, spreads = 0;
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const float logit = z[t][2 * kRow + j];
      most = fmaxf(most, logit);  // skips what is not a number, which the sum then is
      if (place == 8 * t + j) at_label = logit;
    }
  }
  if (smoothing > 0) {
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
  const float total = quad_sum(sum[0] + sum[1]), factor = target.mass / total;
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      float& e = z[t][2 * kRow + j];
      e *= factor;
      if (place == 8 * t + j) e -= target.weight;
    }
  }
  if (smoothing > 0 && target.label >= 0) {
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
#pragma unroll
      for (int j = 0; j < 2; ++j) z[t][2 * kRow + j] -= spread[8 * t + 2 * q + j];
    }
  }
  shift = bound - log2f(factor);
  if (target.label < 0) return 0;
  return (q == 0 ? target.mass * (most + kClassifierLn2 * log2f(total)) : 0.0f) - target.weight * at_label - spreads;
}

// Logits, loss and the features' gradient; a warp has 16 pixels and all their classes in registers. Traffic: the features are
// read once, their gradient is written once, and 10 bytes a pixel beside. See Note [Matrix tiles of a warp].
template <class S, int kClasses, int kChannels>
__global__ void __launch_bounds__(32 * kClassifierWarps, kClasses <= 5 && kChannels <= 2 ? 3 : 2)
    classifier_pixels_kernel(const ClassifierArguments a, const ClassifierOutput to) {
  constexpr int kTiles = 4 * kClasses;
  auto& memory = *shared_memory<ClassifierMemory<kClasses, kChannels>>();
  memory.load(a);
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32, r = lane / 4, q = lane % 4;
  const int all = a.images * to.tiles;
  int tile = static_cast<int>(blockIdx.x) * kClassifierRounds * kClassifierWarps + warp;
  const int past = tile + kClassifierRounds * kClassifierWarps, end = past < all ? past : all;
  const float scale = to.scale == nullptr ? 1.0f : static_cast<float>(*to.scale);
  for (; tile < end; tile += kClassifierWarps) {
    const int in_image = tile % to.tiles * kWarpPixels, left = a.image_pixels - in_image;
    const int64_t pixel = static_cast<int64_t>(tile / to.tiles) * a.image_pixels + in_image;
    PixelFeatures<kChannels> x;
    x.load(a, pixel, left);
    const int given[2] = {r < left ? a.labels[pixel + r] : a.ignore, r + 8 < left ? a.labels[pixel + r + 8] : a.ignore};
    ask_for_features(a, pixel + kClassifierWarps * kWarpPixels);

    __syncwarp();  // else what is the same for all pixels is kept in registers, which are too few
    float z[kTiles][4];
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      const Pack<float, 2> b = load_pack<2>(memory.bias + 8 * t + 2 * q);
      z[t][0] = z[t][2] = b.value[0];
      z[t][1] = z[t][3] = b.value[1];
    }
#pragma unroll
    for (int j = 0; j < kChannels; ++j) {
      const Words &u = x.row[0][j], &v = x.row[1][j];
#pragma unroll
      for (int t = 0; t < kTiles; ++t) {
        const Words w = memory.weight[8 * t * kChannels * 4 + word_place<kChannels>(r, j, q)];
        multiply_tiles<S>(z[t], {u.value[0], v.value[0]}, {u.value[1], v.value[1]}, w.value[0], w.value[1]);
        multiply_tiles<S>(z[t], {u.value[2], v.value[2]}, {u.value[3], v.value[3]}, w.value[2], w.value[3]);
      }
    }

    const PixelTarget targets[2] = {{a, given[0]}, {a, given[1]}};
    float shift[2];
    const float value = softmax_row<0>(z, targets[0], a.smoothing, memory.spread, shift[0]) +
                        softmax_row<1>(z, targets[1], a.smoothing, memory.spread, shift[1]);
    const double sum = warp_sum(static_cast<double>(value));
    if (lane == 0) to.values[tile] = sum;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      if (q == 0 && r + 8 * h < left) to.softmax[pixel + r + 8 * h] = {shift[h], targets[h].label};
    }
    RowPair slope[kTiles];
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      slope[t] = {pack_pair<S>(z[t][0], z[t][1]), pack_pair<S>(z[t][2], z[t][3])};
    }

    float d[kChannels][4][4] = {};  // channels 32 j + 8 q + 2 i and the next, of both pixels
#pragma unroll
    for (int g = 0; g < kClasses; ++g) {
#pragma unroll
      for (int j = 0; j < kChannels; ++j) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          // Of channel 32 j + 8 (r / 2) + 2 i + r % 2.
          const Words w = memory.turned[(32 * j + r / 2 * 8) * kClasses * 4 + word_place<kClasses>(2 * i + r % 2, g, q)];
          multiply_tiles<S>(d[j][i], slope[4 * g], slope[4 * g + 1], w.value[0], w.value[1]);
          multiply_tiles<S>(d[j][i], slope[4 * g + 2], slope[4 * g + 3], w.value[2], w.value[3]);
        }
      }
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int j = 0; j < kChannels; ++j) {
        if (r + 8 * h >= left || 32 * j + 8 * q >= a.channels) continue;
        Words words;
#pragma unroll
        for (int i = 0; i < 4; ++i) words.value[i] = pack_pair<S>(scale * d[j][i][2 * h], scale * d[j][i][2 * h + 1]);
        store_pack(reinterpret_cast<unsigned*>(to.gradient + (pixel + r + 8 * h) * a.channels + 32 * j + 8 * q), words);
      }
    }
  }
}

}  // namespace tessera
