#pragma once
#include "cuda/async_copy.h"
#include "cuda/classifier_arguments.h"

namespace tessera {

inline constexpr int kMostClasses = 256;
inline constexpr int kWeightTile = 128;    // pixels in shared memory at a time
inline constexpr int kWeightBlocks = 396;  // fixed: the order of sums must not depend on the GPU

// How the weights' kernel is cut: a warp has some classes and, where those are few, one of several shares of the pixels.
struct WeightPlan {
  int class_warps, pixel_warps;
  int64_t pixels, tiles, rounds;  // rounds: tiles of a block

  int64_t blocks() const { return (tiles + rounds - 1) / rounds; }
  int64_t parts() const { return blocks() * pixel_warps; }
  unsigned threads() const { return static_cast<unsigned>(32 * class_warps * pixel_warps); }
};

// m16 tiles of classes that a warp has, and its threads at most.
template <int kChannels>
inline constexpr int kSlices = kChannels > 2 ? 1 : 2;
template <int kChannels>
inline constexpr int kWeightThreads = kChannels > 2 ? 320 : 256;  // 160 classes of more channels, 256 of few

template <int kChannels>
WeightPlan plan_weights(const ClassifierArguments& a) {
  WeightPlan plan;
  plan.class_warps = (a.classes - 1) / (16 * kSlices<kChannels>)+1;
  plan.pixel_warps = plan.class_warps < 4 ? 4 / plan.class_warps : 1;
  plan.pixels = static_cast<int64_t>(a.images) * a.image_pixels;
  plan.tiles = (plan.pixels + kWeightTile - 1) / kWeightTile;
  plan.rounds = (plan.tiles + kWeightBlocks - 1) / kWeightBlocks;
  return plan;
}

template <int kChannels>
struct WeightTile {
  Words features[kWeightTile * kChannels * 4];
  PixelSoftmax softmax[kWeightTile];

  // All threads; then wait_for_copies and a barrier.
  __device__ void begin_load(const ClassifierArguments& a, const PixelSoftmax* from, int64_t first, int64_t pixels) {
    const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
    for (int i = thread; i < kWeightTile * kChannels * 4; i += threads) {
      const int row = i / (kChannels * 4), chunk = i % (kChannels * 4);
      Words* const to = features + word_place<kChannels>(row, chunk / 4, chunk % 4);
      if (first + row < pixels && chunk * 8 < a.channels) {
        begin_copy(to, a.features + (first + row) * a.channels + chunk * 8);
      } else {
        *to = Words{};
      }
    }
    for (int i = 2 * thread; i < kWeightTile; i += 2 * threads) {
      if (first + i + 1 < pixels) {
        begin_copy(softmax + i, from + first + i);
      } else {
        softmax[i] = first + i < pixels ? from[first + i] : PixelSoftmax{static_cast<float>(INFINITY), -1};
        softmax[i + 1] = {static_cast<float>(INFINITY), -1};
      }
    }
  }
};

template <int kChannels>
struct WeightMemory {
  WeightTile<kChannels> tiles[2];
  float bias[kMostClasses], target[kMostClasses], spread[kMostClasses];
};

// The gradients of weight and bias, without the scale: parts is (blocks x pixel warps, classes x channels + classes). The
// logits are computed again, classes down and pixels across, so that their gradient is the A of the product with the features.
// Traffic: the features and 8 bytes a pixel are read once.
template <class S, int kChannels>
__global__ void __launch_bounds__(kWeightThreads<kChannels>, kChannels > 2 ? 1 : 2)
    classifier_weights_kernel(const ClassifierArguments a, const WeightPlan plan, const PixelSoftmax* softmax, float* parts) {
  constexpr int kTall = kSlices<kChannels>;
  auto& memory = *shared_memory<WeightMemory<kChannels>>();
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32, r = lane / 4, q = lane % 4;
  const int first_class = warp % plan.class_warps * 16 * kTall + r, share = warp / plan.class_warps;
  const int64_t begin = blockIdx.x * plan.rounds, past = begin + plan.rounds, end = past < plan.tiles ? past : plan.tiles;
  memory.tiles[0].begin_load(a, softmax, begin * kWeightTile, plan.pixels);

  Words weight[kTall][2][kChannels];  // rows r and r + 8
  float bias_sum[kTall][2] = {};
  float sum[kTall][4 * kChannels][4] = {};
#pragma unroll
  for (int s = 0; s < kTall; ++s) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int c = first_class + 16 * s + 8 * h;
      const bool there = c < a.classes;
      memory.bias[c] = there ? a.bias[c] : kNoClass;
      memory.target[c] = there ? a.target_weight(c) : 0;
      memory.spread[c] = there ? a.spread(c) : 0;
#pragma unroll
      for (int j = 0; j < kChannels; ++j)
        weight[s][h][j] =
            there && 32 * j + 8 * q < a.channels ? load_words(a.weight + c * a.channels + 32 * j + 8 * q) : Words{};
    }
  }

  for (int64_t i = begin; i < end; ++i) {
    const WeightTile<kChannels>& tile = memory.tiles[(i - begin) % 2];
    wait_for_copies();
    __syncthreads();  // the tile is there, and nobody reads the one before
    if (i + 1 < end) memory.tiles[(i + 1 - begin) % 2].begin_load(a, softmax, (i + 1) * kWeightTile, plan.pixels);
    for (int step = share; step < kWeightTile / 16; step += plan.pixel_warps) {
      RowPair slope[kTall][2];  // of pixels 8 n + 2 q and the next
#pragma unroll
      for (int n = 0; n < 2; ++n) {
        const int pixel = 16 * step + 8 * n;
        float z[kTall][4];
#pragma unroll
        for (int s = 0; s < kTall; ++s) {
          z[s][0] = z[s][1] = memory.bias[first_class + 16 * s];
          z[s][2] = z[s][3] = memory.bias[first_class + 16 * s + 8];
        }
#pragma unroll
        for (int j = 0; j < kChannels; ++j) {
          const Words x = tile.features[pixel * kChannels * 4 + word_place<kChannels>(r, j, q)];
#pragma unroll
          for (int s = 0; s < kTall; ++s) {
            const Words &u = weight[s][0][j], &v = weight[s][1][j];
            multiply_tiles<S>(z[s], {u.value[0], v.value[0]}, {u.value[1], v.value[1]}, x.value[0], x.value[1]);
            multiply_tiles<S>(z[s], {u.value[2], v.value[2]}, {u.value[3], v.value[3]}, x.value[2], x.value[3]);
          }
        }
        const Pack<PixelSoftmax, 2> at = load_pack<2>(tile.softmax + pixel + 2 * q);
#pragma unroll
        for (int s = 0; s < kTall; ++s) {
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            const int c = first_class + 16 * s + 8 * h;
#pragma unroll
            for (int k = 0; k < 2; ++k) {
              float& e = z[s][2 * h + k];
              e = exp2_fast(e * kClassifierLog2E - at.value[k].shift);
              if (at.value[k].label == c) e -= memory.target[c];
              if (a.smoothing > 0 && at.value[k].label >= 0) e -= memory.spread[c];
              bias_sum[s][h] += e;
            }
          }
          slope[s][n] = {pack_pair<S>(z[s][0], z[s][1]), pack_pair<S>(z[s][2], z[s][3])};
        }
      }
#pragma unroll
      for (int pair = 0; pair < 2 * kChannels; ++pair) {
        unsigned x[4];
        const int place = word_place<kChannels>(lane % 16, pair / 2, pair % 2 * 2 + lane / 16);
        load_turned(x, tile.features + 16 * step * kChannels * 4 + place);
#pragma unroll
        for (int s = 0; s < kTall; ++s) {
          multiply_tiles<S>(sum[s][2 * pair], slope[s][0], slope[s][1], x[0], x[1]);
          multiply_tiles<S>(sum[s][2 * pair + 1], slope[s][0], slope[s][1], x[2], x[3]);
        }
      }
    }
  }

  const int64_t columns = static_cast<int64_t>(a.classes) * (a.channels + 1);
  float* const to = parts + (static_cast<int64_t>(blockIdx.x) * plan.pixel_warps + share) * columns;
#pragma unroll
  for (int s = 0; s < kTall; ++s) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int c = first_class + 16 * s + 8 * h;
      float all = bias_sum[s][h];
      all += __shfl_xor_sync(kAllLanes, all, 1);
      all += __shfl_xor_sync(kAllLanes, all, 2);
      if (c >= a.classes) continue;
      if (q == 0) to[a.classes * a.channels + c] = all;
#pragma unroll
      for (int chunk = 0; chunk < 4 * kChannels; ++chunk) {
        const int channel = 8 * chunk + 2 * q;
        if (channel >= a.channels) continue;
        to[c * a.channels + channel] = sum[s][chunk][2 * h];
        to[c * a.channels + channel + 1] = sum[s][chunk][2 * h + 1];
      }
    }
  }
}

}  // namespace tessera
