#pragma once
// How the kernels of norm_act.cu go through a channels_last tensor: rows of pixels, each of all channels.
#include <bit>
#include <type_traits>

#include "cuda/common/pack.h"

namespace tessera {

inline constexpr int kMostGroups = 64;  // of one launch

// The numbers that a kernel's speed depends on.
struct NormShape {
  int threads;           // of a block
  int unroll;            // rows that a thread has on their way at once: some 64 KB per processor hide the memory's latency
  int blocks;            // that a processor holds; the launch makes no more
  bool reverse = false;  // from the last rows to the first
};

// Rows and how blocks share them: blockIdx is (stretch of channels, chunk, group). A group's rows are cut into tiles; chunk i
// has tiles i, i + chunks, ..., so that all blocks together sweep over memory. It follows from the group's shape alone: its
// sums depend neither on the GPU nor on the groups that share the pass.
struct NormRows {
  int64_t channels;
  int pixels;  // of a sample
  int start;   // first sample of the first group
  int tile_rows, groups;
  int most_chunks;  // of a group
  int column_bits;  // a stretch has 1 << column_bits packs of channels
  int ends[kMostGroups];

  __host__ __device__ int columns() const { return 1 << column_bits; }
  __host__ __device__ int first_row(int group) const { return (group == 0 ? start : ends[group - 1]) * pixels; }
  __host__ __device__ int count(int group) const { return ends[group] * pixels - first_row(group); }
  __host__ __device__ int tiles(int group) const { return (count(group) + tile_rows - 1) / tile_rows; }
  // The number of chunks: as many as run at once, or fewer when each then still has the same number of tiles.
  __host__ __device__ int chunks(int group) const {
    const int all = tiles(group), each = (all + most_chunks - 1) / most_chunks;
    return (all + each - 1) / each;
  }
};

// Number of rows of a group's chunks.
struct ChunkRows {
  __device__ ChunkRows(const NormRows& rows, int group)
      : tile_rows(rows.tile_rows),
        each(rows.tiles(group) / rows.chunks(group)),
        further(rows.tiles(group) % rows.chunks(group)),
        last((rows.tiles(group) - 1) % rows.chunks(group)),
        missing(rows.tiles(group) * rows.tile_rows - rows.count(group)) {}
  __device__ int of(int chunk) const { return (each + (chunk < further ? 1 : 0)) * tile_rows - (chunk == last ? missing : 0); }
  int tile_rows, each, further;
  int last, missing;  // the chunk of the last tile, and the rows that the tile lacks
};

// A thread's place: a pack of channels, and every row_lanes-th row of its block's tiles.
template <int kPack, NormShape kShape>
struct NormPlace {
  __device__ explicit NormPlace(const NormRows& rows)
      : group(static_cast<int>(blockIdx.z)),
        column(static_cast<int>(threadIdx.x) & (rows.columns() - 1)),
        row_lane(static_cast<int>(threadIdx.x) >> rows.column_bits),
        row_lanes(kShape.threads >> rows.column_bits),
        channels(rows.channels),
        first_channel(static_cast<int64_t>(blockIdx.x) * rows.columns() * kPack),
        channel(first_channel + column * kPack),
        first(rows.first_row(group) + static_cast<int>(blockIdx.y) * rows.tile_rows),
        end(rows.first_row(group) + rows.count(group)),
        stride(rows.chunks(group) * rows.tile_rows),
        tiles((rows.tiles(group) - static_cast<int>(blockIdx.y) + rows.chunks(group) - 1) / rows.chunks(group)) {
    if (static_cast<int>(blockIdx.y) >= rows.chunks(group)) tiles = 0;
  }

  // A pack on its way stays in whole words: numbers of two bytes would take a register each.
  template <class S>
  using Words = std::conditional_t<sizeof(Pack<S, kPack>) == sizeof(int4), int4, Pack<S, kPack>>;

  template <class S>
  __device__ __forceinline__ Words<S> load(const S* from) const {
    return *reinterpret_cast<const Words<S>*>(from);
  }
  // Where a thread's channels of the block's first row are.
  __device__ int64_t first_offset() const { return first * channels + channel; }

  // Calls use(offset, packs of each input) for the thread's rows. All loads of several rows are begun before the first is used:
  // stores in `use` would hold the next ones back. prepare() is called by all threads of the block, while the first rows are on
  // their way.
  template <int kInputs, class S, class Prepare, class Use>
  __device__ __forceinline__ void for_each_row(const S* const (&inputs)[kInputs], Prepare&& prepare, Use&& use) const {
    Words<S> words[kShape.unroll][kInputs];
    const int64_t step = row_lanes * channels;
    int left = channel < channels ? tiles : 0;
    int row = first + row_lane + (kShape.reverse ? (tiles - 1) * stride : 0);
    const auto fetch = [&] {
      const int64_t offset = row * channels + channel;
#pragma unroll
      for (int u = 0; u < kShape.unroll; ++u) {
        if (row + u * row_lanes < end) {
#pragma unroll
          for (int i = 0; i < kInputs; ++i) words[u][i] = load(inputs[i] + offset + u * step);
        }
      }
    };
    if (left > 0) fetch();
    prepare();
    while (left > 0) {
      const int64_t offset = row * channels + channel;
#pragma unroll
      for (int u = 0; u < kShape.unroll; ++u) {
        if (row + u * row_lanes >= end) continue;
        Pack<S, kPack> packs[kInputs];
#pragma unroll
        for (int i = 0; i < kInputs; ++i) packs[i] = std::bit_cast<Pack<S, kPack>>(words[u][i]);
        use(offset + u * step, packs);
      }
      if (--left == 0) break;
      row += kShape.reverse ? -stride : stride;
      fetch();
    }
  }

  int group, column, row_lane, row_lanes;
  int64_t channels, first_channel, channel;
  int first, end, stride, tiles;  // first: row of the block; tiles: of the block, none where the group is short
};

}  // namespace tessera
