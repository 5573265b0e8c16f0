#pragma once
#include "cuda/common/async_copy.h"
#include "cuda/loss/classifier_softmax.h"
#include "cuda/loss/classifier_sums.h"

namespace tessera {

struct ClassifierOutput {
  double* values;         // (images, tiles): cross entropy of the pixels of each warp's tile
  uint16_t* gradient;     // of the features
  PixelSoftmax* softmax;  // (N H W): for the weights' kernel
  float* parts;           // (blocks, classes x channels + classes): else the gradients of weight and bias
  const double* scale;    // null: 1; of the features' gradient
  int tiles;              // of an image
  int rounds;             // how often a warp goes on to other pixels: what all need is loaded once
};

// The shared memory of a block, for kClasses x 32 classes and kChannels x 32 channels, zeros around what there is. `weight` and
// `turned` are the B of two products, as a lane's words of two neighbouring tiles.
template <int kClasses, int kChannels>
struct ClassifierMemory {
  static constexpr bool kAdds = kAddsWeights<kClasses, kChannels>;
  Words weight[2 * kChannels][2 * kClasses][32];  // (16 channels, 2 x 8 classes, lane)
  Words turned[2 * kClasses][2 * kChannels][32];  // (16 classes, 2 x 8 channels, lane)
  Pack<float, 4> bias[16 * kClasses];             // of two classes, twice: what C begins with
  float spread[32 * kClasses];
  float scale;                                                  // of the features' gradient
  Words features[kAdds ? 2 : 1][kBlockPixels * kChannels * 4];  // the next pixels' come while these are still in use
  Words grad_logits[kAdds ? kBlockPixels * kClasses * 4 : 1];

  // Column r of tile n of the channels: so a lane's numbers of four tiles lie side by side in the gradient.
  static __device__ int channel_of(int n, int r) { return n / 4 * 32 + r / 2 * 8 + n % 4 * 2 + r % 2; }

  __device__ void load(const ClassifierArguments& a) {
    const auto number = [&](int c, int channel) -> unsigned {
      return c < a.classes && channel < a.channels ? a.weight[c * a.channels + channel] : 0u;
    };
    constexpr int kThreads = 32 * kClassifierWarps;
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, r = lane / 4, q = lane % 4;
#pragma unroll 2
    for (int i = thread / 32; i < 4 * kClasses * kChannels; i += kClassifierWarps) {
      const int first = i / (2 * kClasses), pair = i % (2 * kClasses);
      Words words;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int c = 16 * pair + k / 2 * 8 + r, channel = 16 * first + k % 2 * 8 + 2 * q;
        words.value[k] = number(c, channel) | number(c, channel + 1) << 16;
      }
      weight[first][pair][lane] = words;
    }
#pragma unroll 2
    for (int i = thread / 32; i < 4 * kClasses * kChannels; i += kClassifierWarps) {
      const int first = i / (2 * kChannels), pair = i % (2 * kChannels);
      Words words;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int c = 16 * first + k % 2 * 8 + 2 * q, channel = channel_of(2 * pair + k / 2, r);
        words.value[k] = number(c, channel) | number(c + 1, channel) << 16;
      }
      turned[first][pair][lane] = words;
    }
    const auto bias_of = [&](int c) { return c < a.classes ? a.bias[c] : kNoClass; };
    for (int i = thread; i < 16 * kClasses; i += kThreads) {
      const float first = bias_of(2 * i), second = bias_of(2 * i + 1);
      bias[i] = {first, second, first, second};
    }
    for (int c = thread; c < 32 * kClasses; c += kThreads) spread[c] = c < a.classes ? a.spread(c) : 0;
  }
};

// The 16 pixels of a warp's tile.
struct TilePixels {
  int image, tile;

  // A tile of all images, each of which has that many.
  __device__ __forceinline__ TilePixels(int of_all, int tiles) : image(of_all / tiles), tile(of_all - image * tiles) {}
  __device__ __forceinline__ TilePixels next(int tiles) const {
    TilePixels result = *this;
    for (result.tile += kClassifierWarps; result.tile >= tiles; result.tile -= tiles) ++result.image;
    return result;
  }
  __device__ __forceinline__ int64_t first(const ClassifierArguments& a) const {
    return static_cast<int64_t>(image) * a.image_pixels + tile * kWarpPixels;
  }
  // How many pixels the image has from there on; behind the last image 0.
  __device__ __forceinline__ int left(const ClassifierArguments& a) const {
    return image < a.images ? a.image_pixels - tile * kWarpPixels : 0;
  }
  // Begins to copy their features; lane 4 r + q has parts q of rows r and r + 8.
  template <int kChannels>
  __device__ __forceinline__ void begin_features(const ClassifierArguments& a, int r, int q, Words* to) const {
    const uint16_t* const from = a.features + (first(a) + r) * a.channels + 8 * q;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int j = 0; j < kChannels; ++j) {
        Words* const place = to + 8 * h * kChannels * 4 + word_place<kChannels>(r, j, q);
        if (r + 8 * h < left(a) && 32 * j + 8 * q < a.channels) {
          begin_copy(place, from + 8 * h * a.channels + 32 * j);
        } else {
          *place = Words{};
        }
      }
    }
  }
};

// Logits, loss and gradients; a warp has 16 pixels and all their classes in registers. Traffic: the features are read once,
// their gradient is written once, and 2 bytes a pixel beside, or 10 where the weights' kernel follows. See Note [Matrix tiles
// of a warp].
template <class S, int kClasses, int kChannels>
__global__ void __launch_bounds__(32 * kClassifierWarps, kClasses <= 2 && kChannels <= 2 ? 3 : 2)
    classifier_pixels_kernel(const ClassifierArguments a, const ClassifierOutput to) {
  constexpr int kTiles = 4 * kClasses;
  constexpr bool kAdds = kAddsWeights<kClasses, kChannels>;
  auto& memory = *shared_memory<ClassifierMemory<kClasses, kChannels>>();
  memory.load(a);
  if (threadIdx.x == 0) memory.scale = to.scale == nullptr ? 1.0f : static_cast<float>(*to.scale);
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32, r = lane / 4, q = lane % 4;
  TilePixels pixels(static_cast<int>(blockIdx.x) * to.rounds * kClassifierWarps + warp, to.tiles);
  pixels.begin_features<kChannels>(a, r, q, memory.features[0] + warp * kWarpPixels * kChannels * 4);
  WeightSums<S, kAdds ? kClasses : 1, kAdds ? kChannels : 1> sums;
  for (int round = 0; round < to.rounds; ++round, pixels = pixels.next(to.tiles)) {
    const int64_t pixel = pixels.first(a);
    const int left = pixels.left(a);
    const int given[2] = {r < left ? a.labels[pixel + r] : a.ignore, r + 8 < left ? a.labels[pixel + r + 8] : a.ignore};
    const Words* const block_features = memory.features[kAdds ? round % 2 : 0];
    const Words* const features = block_features + warp * kWarpPixels * kChannels * 4;
    unsigned x[2 * kChannels][4];  // A, for each 16 channels
    wait_for_copies();
    __syncwarp();
#pragma unroll
    for (int k = 0; k < 2 * kChannels; ++k)
      load_tiles(x[k], features + word_place<kChannels>(lane % 16, k / 2, k % 2 * 2 + lane / 16));
    const auto begin_next = [&] {
      if (round + 1 == to.rounds) return;
      Words* const place = memory.features[kAdds ? (round + 1) % 2 : 0] + warp * kWarpPixels * kChannels * 4;
      pixels.next(to.tiles).begin_features<kChannels>(a, r, q, place);
    };
    if constexpr (!kAdds) {
      __syncwarp();
      begin_next();
    }

    float z[kTiles][4];
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      const Pack<float, 4> bias = memory.bias[4 * t + q];
#pragma unroll
      for (int k = 0; k < 4; ++k) z[t][k] = bias.value[k];
    }
#pragma unroll
    for (int k = 0; k < 2 * kChannels; ++k) {
#pragma unroll
      for (int t = 0; t < kTiles; t += 2) {
        const Words w = memory.weight[k][t / 2][lane];
        multiply_tiles<S>(z[t], x[k], w.value[0], w.value[1]);
        multiply_tiles<S>(z[t + 1], x[k], w.value[2], w.value[3]);
      }
    }

    const PixelTarget targets[2] = {{a, given[0]}, {a, given[1]}};
    const LabelPlaces labels(targets);
    float value = 0, shift[2];
    labels.visit(z, [&](int h, float& logit) { value -= targets[h].weight * logit; });
    value += softmax_rows(z, targets, a.smoothing, memory.spread, shift);
    labels.visit(z, [&](int h, float& grad_logit) { grad_logit -= targets[h].weight; });
    const double sum = warp_sum(static_cast<double>(value));
    if (lane == 0 && left > 0) to.values[pixels.image * to.tiles + pixels.tile] = sum;
    if constexpr (kAdds) {
      sums.add_bias(z);
    } else {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        if (q == 0 && r + 8 * h < left) to.softmax[pixel + r + 8 * h] = {shift[h], targets[h].label};
      }
    }
    unsigned grad_logits[kTiles / 2][4];
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
#pragma unroll
      for (int h = 0; h < 2; ++h) grad_logits[t / 2][t % 2 * 2 + h] = pack_pair<S>(z[t][2 * h], z[t][2 * h + 1]);
    }
    if constexpr (kAdds) {
      __syncthreads();  // nobody reads the gradients and features of the round before any more
      begin_next();
      sums.keep(grad_logits, memory.grad_logits);
    }

    const float scale = memory.scale;
    float d[4 * kChannels][4] = {};  // tile 4 j + i: channels 32 j + 8 q + 2 i and the next, of both pixels
#pragma unroll
    for (int k = 0; k < 2 * kClasses; ++k) {
#pragma unroll
      for (int n = 0; n < 4 * kChannels; n += 2) {
        const Words w = memory.turned[k][n / 2][lane];
        multiply_tiles<S>(d[n], grad_logits[k], w.value[0], w.value[1]);
        multiply_tiles<S>(d[n + 1], grad_logits[k], w.value[2], w.value[3]);
      }
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int j = 0; j < kChannels; ++j) {
        if (r + 8 * h >= left || 32 * j + 8 * q >= a.channels) continue;
        Words words;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float(&of_tile)[4] = d[4 * j + i];
          words.value[i] = pack_pair<S>(scale * of_tile[2 * h], scale * of_tile[2 * h + 1]);
        }
        store_pack(reinterpret_cast<unsigned*>(to.gradient + (pixel + r + 8 * h) * a.channels + 32 * j + 8 * q), words);
      }
    }
    if constexpr (kAdds) {
      __syncthreads();  // all gradients are there, and with them the features
      sums.add_weight(block_features, memory.grad_logits);
    }
  }
  if constexpr (kAdds) {
    __syncthreads();
    sums.store(a, to.parts + static_cast<int64_t>(blockIdx.x) * a.classes * (a.channels + 1), memory.grad_logits);
  }
}

}  // namespace tessera
