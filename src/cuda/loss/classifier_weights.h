#pragma once
#include "cuda/common/async_copy.h"
#include "cuda/loss/classifier_softmax.h"

namespace tessera {

inline constexpr int kMostClasses = 256;
inline constexpr int kWeightTile = 128;    // pixels in shared memory at a time
inline constexpr int kWeightBlocks = 396;  // fixed: the order of sums must not depend on the GPU

// How the weights' kernel is cut: a warp of a block has some of the classes.
struct WeightPlan {
  int warps;
  int64_t pixels, tiles, rounds;  // rounds: tiles of a block

  int64_t blocks() const { return (tiles + rounds - 1) / rounds; }
  unsigned threads() const { return static_cast<unsigned>(32 * warps); }
};

// Tiles of 16 classes that a warp has, and a block's threads for 256 classes, or 160 of many channels.
template <int kChannels>
inline constexpr int kSlices = kChannels > 2 ? 1 : 2;
template <int kChannels>
inline constexpr int kMostThreads = kChannels > 2 ? 320 : 256;

template <int kChannels>
WeightPlan plan_weights(const ClassifierArguments& a) {
  WeightPlan plan;
  constexpr int kClasses = 16 * kSlices<kChannels>;  // of a warp
  plan.warps = (a.classes - 1) / kClasses + 1;
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
  Pack<float, 4> bias[kMostClasses / 2];  // of rows r and r + 8, twice each: what C begins with
  float target[kMostClasses], spread[kMostClasses];
};

// The gradients of weight and bias where the pixels' kernel does not add them up, without the scale: parts is (blocks, classes
// x channels + classes). The logits are computed again, classes down and pixels across, so that their gradient is the A of the
// product with the features. Traffic: the features and 8 bytes a pixel are read once.
template <class S, int kChannels>
__global__ void __launch_bounds__(kMostThreads<kChannels>, kChannels > 2 ? 1 : 2)
    classifier_weights_kernel(const ClassifierArguments a, const WeightPlan plan, const PixelSoftmax* softmax, float* parts) {
  constexpr int kTall = kSlices<kChannels>;
  auto& memory = *shared_memory<WeightMemory<kChannels>>();
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32, r = lane / 4, q = lane % 4;
  const int first_class = warp * 16 * kTall + r;
  const int64_t begin = blockIdx.x * plan.rounds, past = begin + plan.rounds, end = past < plan.tiles ? past : plan.tiles;
  memory.tiles[0].begin_load(a, softmax, begin * kWeightTile, plan.pixels);

  unsigned weight[kTall][2 * kChannels][4];  // A, for each 16 channels: in the order in which a lane reads the features' words
  float bias_sum[kTall][2] = {};
  float sum[kTall][4 * kChannels][4] = {};
#pragma unroll
  for (int s = 0; s < kTall; ++s) {
    float of_rows[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int c = first_class + 16 * s + 8 * h;
      const bool there = c < a.classes;
      of_rows[h] = there ? a.bias[c] : kNoClass;
      memory.target[c] = there ? a.target_weight(c) : 0;
      memory.spread[c] = there ? a.spread(c) : 0;
#pragma unroll
      for (int k = 0; k < 4 * kChannels; ++k) {
        const int channel = k / 4 * 32 + 8 * q + k % 4 * 2;
        weight[s][k / 2][k % 2 * 2 + h] =
            there && channel < a.channels ? *reinterpret_cast<const unsigned*>(a.weight + c * a.channels + channel) : 0u;
      }
    }
    memory.bias[first_class / 16 * 8 + 8 * s + r] = {of_rows[0], of_rows[0], of_rows[1], of_rows[1]};
  }

  for (int64_t i = begin; i < end; ++i) {
    const WeightTile<kChannels>& tile = memory.tiles[(i - begin) % 2];
    wait_for_copies();
    __syncthreads();  // the tile is there, and nobody reads the one before
    if (i + 1 < end) memory.tiles[(i + 1 - begin) % 2].begin_load(a, softmax, (i + 1) * kWeightTile, plan.pixels);
    for (int step = 0; step < kWeightTile / 16; ++step) {
      unsigned grad_logits[kTall][4];  // A: of the 16 pixels
#pragma unroll
      for (int n = 0; n < 2; ++n) {
        const int pixel = 16 * step + 8 * n;
        float z[kTall][4];
#pragma unroll
        for (int s = 0; s < kTall; ++s) {
          const Pack<float, 4> bias = memory.bias[first_class / 16 * 8 + 8 * s + r];
#pragma unroll
          for (int k = 0; k < 4; ++k) z[s][k] = bias.value[k];
        }
#pragma unroll
        for (int j = 0; j < kChannels; ++j) {
          const Words x = tile.features[pixel * kChannels * 4 + word_place<kChannels>(r, j, q)];
#pragma unroll
          for (int s = 0; s < kTall; ++s) {
            multiply_tiles<S>(z[s], weight[s][2 * j], x.value[0], x.value[1]);
            multiply_tiles<S>(z[s], weight[s][2 * j + 1], x.value[2], x.value[3]);
          }
        }
        const Pack<PixelSoftmax, 2> at = load_pack<2>(tile.softmax + pixel + 2 * q);
#pragma unroll
        for (int s = 0; s < kTall; ++s) {
#pragma unroll
          for (int k = 0; k < 4; ++k) z[s][k] = exp2_fast(z[s][k] * kClassifierLog2E - at.value[k % 2].shift);
        }
        const auto subtract = [&](const float* from, const auto& has) {
#pragma unroll
          for (int s = 0; s < kTall; ++s) {
#pragma unroll
            for (int k = 0; k < 4; ++k) {
              const int c = first_class + 16 * s + k / 2 * 8;
              if (has(at.value[k % 2].label, c)) z[s][k] -= from[c];
            }
          }
        };
        const int before = warp * 16 * kTall;
        const auto is_here = [&](int label) { return label >= before && label < before + 16 * kTall; };
        if (__any_sync(kAllLanes, is_here(at.value[0].label) || is_here(at.value[1].label)))  // mostly another warp has them
          subtract(memory.target, [](int label, int c) { return label == c; });
        if (a.smoothing > 0) subtract(memory.spread, [](int label, int) { return label >= 0; });
#pragma unroll
        for (int s = 0; s < kTall; ++s) {
#pragma unroll
          for (int k = 0; k < 4; ++k) bias_sum[s][k / 2] += z[s][k];
#pragma unroll
          for (int h = 0; h < 2; ++h) grad_logits[s][2 * n + h] = pack_pair<S>(z[s][2 * h], z[s][2 * h + 1]);
        }
      }
#pragma unroll
      for (int pair = 0; pair < 2 * kChannels; ++pair) {
        unsigned x[4];
        const int place = word_place<kChannels>(lane % 16, pair / 2, pair % 2 * 2 + lane / 16);
        load_turned(x, tile.features + 16 * step * kChannels * 4 + place);
#pragma unroll
        for (int s = 0; s < kTall; ++s) {
          multiply_tiles<S>(sum[s][2 * pair], grad_logits[s], x[0], x[1]);
          multiply_tiles<S>(sum[s][2 * pair + 1], grad_logits[s], x[2], x[3]);
        }
      }
    }
  }

  const int64_t columns = static_cast<int64_t>(a.classes) * (a.channels + 1);
  float* const to = parts + blockIdx.x * columns;
#pragma unroll
  for (int s = 0; s < kTall; ++s) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int c = first_class + 16 * s + 8 * h;
      const float all = quad_sum(bias_sum[s][h]);
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
