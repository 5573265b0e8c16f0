#pragma once
// How the kernels of norm_act.cu go through a channels_last tensor: rows of pixels, each of all channels.
#include <algorithm>
#include <type_traits>

#include "cuda/launch.h"

namespace tessera {

inline constexpr int kNormThreads = 256;
inline constexpr int kMostGroups = 64;  // of one launch

template <class S>
using ComputeType = std::conditional_t<std::is_same_v<S, double>, double, float>;

// Several channels of a pixel, moved at once.
template <class S, int kPack>
struct alignas(sizeof(S) * kPack) NormPack {
  S value[kPack];
};

// Rows and how blocks share them: blockIdx is (stretch of channels, chunk of rows, group). It follows from the shape alone.
struct NormRows {
  int64_t channels, pixels;  // pixels: of a sample
  int64_t start;             // first sample of the first group
  int64_t chunk_rows;
  int chunks, groups, columns;
  int ends[kMostGroups];

  __host__ __device__ int64_t first_row(int group) const { return (group == 0 ? start : ends[group - 1]) * pixels; }
  __host__ __device__ int64_t count(int group) const { return ends[group] * pixels - first_row(group); }
  // Rows of a chunk, 0 for those past the group's end.
  __device__ int64_t length(int group, int64_t chunk) const {
    const int64_t left = count(group) - chunk * chunk_rows;
    return left < 0 ? 0 : left < chunk_rows ? left : chunk_rows;
  }
  // Sums of blocks: (group, chunk, 2, channel).
  __device__ int64_t first_partial(int64_t group) const { return 2 * group * chunks * channels; }
};

// A thread's place: a pack of channels, and every row_lanes-th row of its block's chunk.
template <int kPack>
struct NormBlock {
  static constexpr int kUnroll = 4;  // rows that a thread has on their way at once

  __device__ explicit NormBlock(const NormRows& rows)
      : channels(rows.channels),
        group(static_cast<int>(blockIdx.z)),
        columns(rows.columns),
        row_lane(static_cast<int>(threadIdx.x) / rows.columns),
        row_lanes(kNormThreads / rows.columns),
        channel((static_cast<int64_t>(blockIdx.x) * rows.columns + threadIdx.x % rows.columns) * kPack),
        begin(rows.first_row(group) + blockIdx.y * rows.chunk_rows),
        end(begin + rows.length(group, blockIdx.y)),
        inside(channel < channels && begin < end) {}

  template <class S>
  __device__ __forceinline__ NormPack<S, kPack> load(const S* from, int64_t row) const {
    return *reinterpret_cast<const NormPack<S, kPack>*>(from + row * channels + channel);
  }
  template <class S>
  __device__ __forceinline__ void store(S* to, int64_t row, const NormPack<S, kPack>& pack) const {
    *reinterpret_cast<NormPack<S, kPack>*>(to + row * channels + channel) = pack;
  }

  // Calls use(row, packs of each input) for the thread's rows. Inputs that are null are not read. All loads of several rows are
  // begun before the first is used: stores in `use` would hold the next ones back.
  template <int kInputs, class S, class Use>
  __device__ __forceinline__ void for_each_row(const S* const* inputs, Use&& use) const {
    for (int64_t first = begin + row_lane; first < end; first += kUnroll * row_lanes) {
      NormPack<S, kPack> packs[kUnroll][kInputs];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const int64_t row = first + u * row_lanes;
#pragma unroll
        for (int i = 0; i < kInputs; ++i) {
          packs[u][i] = inputs[i] != nullptr ? load(inputs[i], row < end ? row : first) : NormPack<S, kPack>{};
        }
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const int64_t row = first + u * row_lanes;
        if (row < end) use(row, packs[u]);
      }
    }
  }

  // Sums over the block's rows, in a fixed order, to row lane 0. All threads of the block call it, with kNormThreads * kPack
  // numbers of shared memory.
  template <class T>
  __device__ void add_up(T (&values)[kPack]) const {
    T* const shared = shared_memory<T>() + threadIdx.x;
    for (int k = 0; k < kPack; ++k) shared[k * kNormThreads] = values[k];
    __syncthreads();
    for (int half = row_lanes / 2; half > 0; half /= 2) {
      if (row_lane < half) {
        for (int k = 0; k < kPack; ++k) shared[k * kNormThreads] += shared[k * kNormThreads + half * columns];
      }
      __syncthreads();
    }
    for (int k = 0; k < kPack; ++k) values[k] = shared[k * kNormThreads];
    __syncthreads();
  }

  // Where the thread's first channel stands in the partial sums.
  __device__ int64_t partial(const NormRows& rows) const {
    return rows.first_partial(group) + 2 * static_cast<int64_t>(blockIdx.y) * channels + channel;
  }

  int64_t channels;
  int group, columns, row_lane, row_lanes;
  int64_t channel, begin, end;
  bool inside;
};

struct SumPair {
  double first, second;
};

// Sums of partial sums over chunks: a block has 32 channels and up to 32 threads for each.
struct PartialSums {
  static constexpr int kChannels = 32, kMostLanes = 32;

  __device__ explicit PartialSums(const NormRows& rows)
      : channel(static_cast<int64_t>(blockIdx.x) * kChannels + threadIdx.x % kChannels),
        lane(static_cast<int>(threadIdx.x) / kChannels),
        lanes(static_cast<int>(blockDim.x) / kChannels),
        inside(channel < rows.channels) {}

  // The sum of value(chunk), in a fixed order, to lane 0. All threads of the block call it, with a pair of shared
  // memory.
  template <class Value>
  __device__ SumPair over(int chunks, Value&& value) const {
    SumPair sum{0, 0};
    if (inside) {
#pragma unroll 4
      for (int chunk = lane; chunk < chunks; chunk += lanes) {
        const SumPair found = value(chunk);
        sum.first += found.first;
        sum.second += found.second;
      }
    }
    SumPair* const shared = shared_memory<SumPair>() + threadIdx.x;
    *shared = sum;
    __syncthreads();
    for (int half = lanes / 2; half > 0; half /= 2) {
      if (lane < half) {
        shared->first += shared[half * kChannels].first;
        shared->second += shared[half * kChannels].second;
      }
      __syncthreads();
    }
    return *shared;
  }

  int64_t channel;
  int lane, lanes;
  bool inside;
};

}  // namespace tessera
