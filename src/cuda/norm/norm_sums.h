#pragma once
// Pairs of sums per channel over all rows, in a fixed order: over a block's threads, then over blocks.
#include "cuda/norm/norm_rows.h"

namespace tessera {

struct alignas(16) SumPair {
  double first, second;
};

// Sums over the block's threads. All of them call it, with 2 * threads / 32 numbers of shared memory per channel of a stretch;
// end(place in the stretch, sums) is called by one thread per channel.
template <class T, int kPack, NormShape kShape, class End>
__device__ void add_up_rows(const NormPlace<kPack, kShape>& place, const NormRows& rows, T (&first)[kPack], T (&second)[kPack],
                            End&& end) {
  constexpr int kWarps = kShape.threads / 32;
  const int stretch = rows.columns() * kPack, thread = static_cast<int>(threadIdx.x);
  T* const sums = shared_memory<T>();  // (warp, 2, channel)
  for (int distance = 16; distance >= rows.columns(); distance /= 2) {
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      first[k] += __shfl_xor_sync(kAllLanes, first[k], distance);
      second[k] += __shfl_xor_sync(kAllLanes, second[k], distance);
    }
  }
  __syncthreads();  // other uses of the memory
  if (thread % 32 < rows.columns()) {
    T* const to = sums + thread / 32 * 2 * stretch + place.column * kPack;
    for (int k = 0; k < kPack; ++k) {
      to[k] = first[k];
      to[stretch + k] = second[k];
    }
  }
  __syncthreads();
  for (int i = thread; i < stretch; i += kShape.threads) {
    if (place.first_channel + i >= rows.channels || place.tiles == 0) break;
    T total[2] = {};
#pragma unroll 8
    for (int warp = 0; warp < kWarps; ++warp) {
      total[0] += sums[warp * 2 * stretch + i];
      total[1] += sums[(warp * 2 + 1) * stretch + i];
    }
    end(i, total[0], total[1]);
  }
}

// Whether the block is the last of `blocks` to come here; what the others wrote before is then seen. The counter is 0 before
// and after.
__device__ inline bool comes_last(unsigned* counter, unsigned blocks) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicInc(counter, blocks - 1) == blocks - 1;
  __syncthreads();
  __threadfence();
  return last;
}

// Sums of all blocks of a stretch of channels: (group, chunk, channel).
struct BlockSums {
  SumPair* values;

  __device__ SumPair* of(const NormRows& rows, int group, int chunk) const {
    return values + (static_cast<int64_t>(group) * static_cast<int>(gridDim.y) + chunk) * rows.channels;
  }
};

// The last block of a stretch and a group, which adds up: its threads are lanes of channels, each with a part of the chunks.
template <int kPack, NormShape kShape>
struct LastBlock {
  static constexpr int kAtOnce = 8;  // loads

  __device__ LastBlock(const NormPlace<kPack, kShape>& place, const NormRows& rows)
      : stretch(rows.columns() * kPack),
        channel(place.first_channel + static_cast<int>(threadIdx.x) % stretch),
        lane(static_cast<int>(threadIdx.x) / stretch),
        ends_channel(channel < rows.channels && lane == 0) {}

  // The sum over chunks of value(a chunk's rows, its pair), in a fixed order, in lane 0. All threads of the block call it, with
  // a pair of shared memory each.
  template <class Value>
  __device__ SumPair over_chunks(const NormRows& rows, int group, const BlockSums& sums, Value&& value) const {
    const int lanes = kShape.threads / stretch, chunks = channel < rows.channels ? rows.chunks(group) : 0;
    const ChunkRows length(rows, group);
    SumPair sum{0, 0};
    for (int chunk = lane; chunk < chunks; chunk += lanes * kAtOnce) {
      SumPair loaded[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int at = chunk + i * lanes;
        loaded[i] = at < chunks ? sums.of(rows, group, at)[channel] : SumPair{0, 0};
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (chunk + i * lanes >= chunks) continue;
        const SumPair found = value(length.of(chunk + i * lanes), loaded[i]);
        sum.first += found.first;
        sum.second += found.second;
      }
    }
    SumPair* const shared = shared_memory<SumPair>() + threadIdx.x;
    *shared = sum;
    __syncthreads();
    for (int half = lanes / 2; half > 0; half /= 2) {
      if (lane < half) {
        shared->first += shared[half * stretch].first;
        shared->second += shared[half * stretch].second;
      }
      __syncthreads();
    }
    return *shared;
  }

  int stretch;
  int64_t channel;
  int lane;
  bool ends_channel;
};

}  // namespace tessera
