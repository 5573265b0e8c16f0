#pragma once
#include "cuda/loss/softmax_tiles.h"

namespace tessera {

inline constexpr int kClassChunk = 4;  // classes whose sums a thread has in registers

// Shared memory of a block beside its tile: each pixel's log of the sum and probability of the label, each warp's sums by
// class.
template <class T>
size_t class_sums_bytes(const LogitTiles& tiles, int classes) {
  return sizeof(T) * static_cast<size_t>(2 * tiles.cut.pixels + tiles.cut.pixels / 32 * 2 * classes);
}

// Sums of softmax over pixels, (tiles, 2, C): over those that have the class's label, and over all labelled ones. A thread
// finds the sum of its pixel's exponentials; then the warp goes through its pixels again, classes dealt out over the lanes.
template <class T, class S, int kPack>
__global__ void tile_class_sums_kernel(const SoftmaxArguments<T> a, const LogitTiles tiles, T* sums) {
  const PixelTile<S> tile = load_tile<S>(a, tiles);
  const int own = static_cast<int>(threadIdx.x), lane = own % 32, first = own - lane;
  const int threads = static_cast<int>(blockDim.x);
  T* const bounds = reinterpret_cast<T*>(shared_memory<unsigned char>() + tiles.tile_bytes);
  T* const at_label = bounds + threads;
  T* const all_sums = at_label + threads;
  T* const own_sums = all_sums + first / 32 * 2 * a.classes;
  PixelTargets<T> target;
  if (own < tile.size) target.read(a, tiles.image(blockIdx.x), tiles.first_pixel(blockIdx.x) + own);
  const bool counts = target.counts();
  if (counts) {
    const SharedRow<T, S, kPack> row{tile.shared + own * tile.pitch.shared};
    const T log_sum = sum_classes(a, row).log_sum();
    bounds[own] = log_sum * kLog2E<T> * target.labelled;  // not a number where the label is no class
    at_label[own] = probability(row[target.label[0]], log_sum) * target.labelled;
  }
  for (int c = lane; c < a.classes; c += 32) own_sums[c] = 0;
  const unsigned counted = __ballot_sync(kAllLanes, counts), same = __match_any_sync(kAllLanes, target.label[0]);
  __syncwarp();
  if (counts && (same & ((1u << lane) - 1)) == 0) {  // the first of the pixels with this label adds them up, in their order
    T sum = 0;
    for (unsigned left = same; left != 0; left &= left - 1) sum += at_label[first + __ffs(static_cast<int>(left)) - 1];
    own_sums[target.label[0]] = sum;
  }
  for (int c = lane; c < a.classes; c += 32 * kClassChunk) {
    T sum[kClassChunk] = {};
    for (unsigned left = counted; left != 0; left &= left - 1) {
      const int pixel = first + __ffs(static_cast<int>(left)) - 1;
      const T bound = bounds[pixel];
      const S* const z = tile.shared + pixel * tile.pitch.shared + c;
#pragma unroll
      for (int k = 0; k < kClassChunk; ++k) {
        if (c + 32 * k < a.classes) sum[k] += exp2_fast(static_cast<T>(z[32 * k]) * kLog2E<T> - bound);
      }
    }
#pragma unroll
    for (int k = 0; k < kClassChunk; ++k) {
      if (c + 32 * k < a.classes) own_sums[a.classes + c + 32 * k] = sum[k];
    }
  }
  __syncthreads();
  for (int i = own; i < 2 * a.classes; i += threads) {
    T sum = 0;
    for (int warp = 0; warp < threads / 32; ++warp) sum += all_sums[warp * 2 * a.classes + i];
    sums[static_cast<int64_t>(blockIdx.x) * 2 * a.classes + i] = sum;
  }
}

}  // namespace tessera
