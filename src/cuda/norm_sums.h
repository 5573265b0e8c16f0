#pragma once
// Pairs of sums per channel over all rows, in a fixed order: over a block's threads, then over blocks.
#include "cuda/norm_rows.h"

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
    if (place.first_channel + i >= rows.channels || place.tiles <= 0) break;
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
    return values + (static_cast<int64_t>(group) * rows.chunks + chunk) * rows.channels;
  }
};

// What the last block of a stretch does: its threads are lanes of channels, each with a part of a group's chunks.
template <int kPack, NormShape kShape>
struct LastBlock {
  static constexpr int kAtOnce = 8;  // loads

  __device__ LastBlock(const NormPlace<kPack, kShape>& place, const NormRows& rows)
      : stretch(rows.columns() * kPack),
        channel(place.first_channel + static_cast<int>(threadIdx.x) % stretch),
        lane(static_cast<int>(threadIdx.x) / stretch),
        inside(channel < rows.channels) {}

  // Calls end(group, sums over its chunks of value(a chunk's rows, its pair, the first chunk's pair), the first chunk's pair)
  // in one thread per group and channel. All threads of the block call it, with a pair of shared memory each.
  template <class Value, class End>
  __device__ void for_each_group(const NormRows& rows, const BlockSums& sums, Value&& value, End&& end) const {
    const int lanes = kShape.threads / stretch;
    int shared_by = 1;  // groups at once
    while (shared_by < lanes && shared_by < rows.groups) shared_by *= 2;
    const int parts = lanes / shared_by, part = lane % parts;
    SumPair* const shared = shared_memory<SumPair>() + threadIdx.x;
    for (int first = 0; first < rows.groups; first += shared_by) {
      const int group = first + lane / parts;
      const bool active = inside && group < rows.groups;
      const ChunkRows length(rows, active ? group : 0);
      const SumPair front = active ? sums.of(rows, group, 0)[channel] : SumPair{0, 0};
      SumPair sum{0, 0};
      for (int chunk = part; active && chunk < rows.chunks; chunk += parts * kAtOnce) {
        SumPair loaded[kAtOnce];
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
          const int at = chunk + i * parts;
          loaded[i] = at < rows.chunks ? sums.of(rows, group, at)[channel] : SumPair{0, 0};
        }
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
          const int count = chunk + i * parts < rows.chunks ? length.of(chunk + i * parts) : 0;
          if (count == 0) continue;  // a short group; nobody wrote there
          const SumPair found = value(count, loaded[i], front);
          sum.first += found.first;
          sum.second += found.second;
        }
      }
      __syncthreads();  // other uses of the memory
      *shared = sum;
      __syncthreads();
      for (int half = parts / 2; half > 0; half /= 2) {
        if (part < half) {
          shared->first += shared[half * stretch].first;
          shared->second += shared[half * stretch].second;
        }
        __syncthreads();
      }
      if (active && part == 0) end(group, *shared, front);
    }
    __syncthreads();
  }

  int stretch;
  int64_t channel;
  int lane;
  bool inside;
};

}  // namespace tessera
