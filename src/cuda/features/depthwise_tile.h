#pragma once
// How the kernel of depthwise_conv.cu cuts its work.
//
// Note [Phases] Pixels that a dilation d does not reach from one another, even in many steps, have nothing to do with one
// another: an axis falls into d phases, x = phase + step * d, each an axis of its own with dilation 1. A tile has several
// phases and a run of steps of each; its window has one step more at either end, if the image has. Slots number a window's
// pixels along an axis: step by step, the phases of a step side by side, so that a tap is always `phases` slots away. Where all
// steps fit, a window is its tile and nothing is read twice, however large the dilation.
#include <algorithm>

#include "cuda/common/async_copy.h"
#include "cuda/common/channel_vector.h"

namespace tessera {

inline constexpr int kTileThreads = 128;
inline constexpr int kWindowRows = 18, kWindowColumns = 34;  // most slots; backward three blocks share a multiprocessor
inline constexpr int kChunkBytes = 64;  // of a pixel: two sectors; wider chunks would leave smaller windows
inline constexpr int kChain = 8;        // steps that a thread slides over
inline constexpr int kMostChainLanes = 4;

// One axis of an image, see Note [Phases].
struct PhaseAxis {
  int size, dilation, steps;                    // steps: of phase 0, the longest
  int tile_phases, tile_steps, groups, pieces;  // a tile's part, and how many tiles that makes
  int slots;                                    // of the largest window

  __host__ __device__ int tiles() const { return groups * pieces; }
};

inline PhaseAxis cut_axis(int64_t size, int64_t dilation, int most_slots) {
  PhaseAxis axis{};
  axis.size = static_cast<int>(size);
  axis.dilation = static_cast<int>(std::min(size, dilation));  // past the image's edge one is like another
  axis.steps = static_cast<int>(divide_up(size, axis.dilation));
  const int last = axis.size - (axis.steps - 1) * axis.dilation;  // phases that have the last step
  const auto slots = [&](int phases) { return (axis.steps - 1) * phases + std::min(phases, last); };
  if (axis.steps > most_slots) {
    axis.tile_phases = 1;
    axis.groups = axis.dilation;
    axis.pieces = static_cast<int>(divide_up(axis.steps, most_slots - 2));
    axis.tile_steps = static_cast<int>(divide_up(axis.steps, axis.pieces));
    axis.slots = std::min(axis.steps, axis.tile_steps + 2);
    return axis;
  }
  int phases = axis.dilation;
  while (slots(phases) > most_slots) --phases;
  axis.groups = static_cast<int>(divide_up(axis.dilation, phases));
  axis.tile_phases = static_cast<int>(divide_up(axis.dilation, axis.groups));
  axis.pieces = 1;
  axis.tile_steps = axis.steps;
  axis.slots = slots(axis.tile_phases);
  return axis;
}

// A tile's part of an axis. Its own pixels are slots [lead, lead + own) of the window's [0, slots).
struct PhaseSpan {
  __device__ PhaseSpan(const PhaseAxis& axis, int tile)
      : phase(tile % axis.groups * axis.tile_phases),
        begin(max(0, tile / axis.groups * axis.tile_steps - 1)),
        steps(min(axis.tile_steps, axis.steps - tile / axis.groups * axis.tile_steps)),
        lead((tile / axis.groups * axis.tile_steps - begin) * axis.tile_phases) {
    const int end = min(axis.steps, tile / axis.groups * axis.tile_steps + axis.tile_steps + 1);
    slots = min(axis.slots, (end - begin) * axis.tile_phases);
    own = min(slots - lead, steps * axis.tile_phases);
  }

  // Which pixel a slot has, -1 for none.
  __device__ int pixel(const PhaseAxis& axis, int slot) const {
    const int of = phase + slot % axis.tile_phases, at = of + (begin + slot / axis.tile_phases) * axis.dilation;
    return of < axis.dilation && at < axis.size ? at : -1;
  }

  int phase, begin, steps, lead, slots, own;
};

struct DepthwisePlan {
  PhaseAxis rows, columns;
  int channels;
  int lanes, chunks;        // vectors of a chunk, a power of two; chunks of a pixel
  int chains, chain_lanes;  // of a tile's row; threads that share them
  int pitch, pixel_bytes;   // shared memory: slots from row to row, odd, so that rows side by side meet no bank twice

  int64_t tiles(int64_t images) const { return images * rows.tiles() * columns.tiles(); }
  __host__ __device__ int window_bytes() const { return rows.slots * pitch * pixel_bytes; }
  int tile_bytes() const { return std::min(rows.slots, rows.tile_phases * rows.tile_steps) * pitch * pixel_bytes; }
};

// The plan for images of height x width x channels in vectors of `vector` numbers of `size` bytes; `whole`: see is_whole.
inline DepthwisePlan depthwise_plan(int64_t height, int64_t width, int64_t channels, int64_t dilation, int vector, int size,
                                    bool whole) {
  DepthwisePlan plan{};
  plan.rows = cut_axis(height, dilation, kWindowRows);
  plan.columns = cut_axis(width, dilation, kWindowColumns);
  plan.channels = static_cast<int>(channels);
  const int most_lanes = whole ? kChunkBytes / (vector * size) : 32;
  plan.lanes = 1;
  while (plan.lanes < most_lanes && plan.lanes * vector < plan.channels) plan.lanes *= 2;
  plan.chunks = static_cast<int>(divide_up(channels, plan.lanes * vector));
  plan.chains = plan.columns.tile_phases * static_cast<int>(divide_up(plan.columns.tile_steps, kChain));
  plan.chain_lanes = 1;
  while (plan.chain_lanes < kMostChainLanes && plan.chain_lanes < plan.chains) plan.chain_lanes *= 2;
  plan.pitch = plan.columns.slots | 1;
  plan.pixel_bytes = plan.lanes * vector * size;
  return plan;
}

// A block's place: a chunk of channels of a tile, and which pixels its slots have.
struct DepthwiseBlock {
  __device__ DepthwiseBlock(const DepthwisePlan& plan, int64_t block)
      : chunk(static_cast<int>(block % plan.chunks)),
        tile(block / plan.chunks),
        image(tile / (plan.rows.tiles() * plan.columns.tiles())),
        rows(plan.rows, static_cast<int>(tile / plan.columns.tiles() % plan.rows.tiles())),
        columns(plan.columns, static_cast<int>(tile % plan.columns.tiles())) {}

  // All threads together, before anything else.
  __device__ void fill(const DepthwisePlan& plan, int* row_of, int* column_of) const {
    const int i = static_cast<int>(threadIdx.x);
    if (i < rows.slots) row_of[i] = rows.pixel(plan.rows, i);
    if (i < columns.slots) column_of[i] = columns.pixel(plan.columns, i);
    __syncthreads();
  }

  // Begins to bring `count` rows of slots of an image into shared memory, all threads together.
  template <class S>
  __device__ void begin_rows(const DepthwisePlan& plan, const S* from, const int* row_of, const int* column_of, int count,
                             unsigned char* to) const {
    constexpr int kPiece = 16 / static_cast<int>(sizeof(S));
    const int pieces = plan.pixel_bytes / 16, piece = static_cast<int>(threadIdx.x) % pieces;
    const int channel = (chunk * pieces + piece) * kPiece;
    if (channel >= plan.channels) return;
    const int64_t line = static_cast<int64_t>(plan.columns.size) * plan.channels;
    for (int column = static_cast<int>(threadIdx.x) / pieces; column < columns.slots; column += kTileThreads / pieces) {
      const int x = column_of[column];
      if (x < 0) continue;
      const S* const first = from + static_cast<int64_t>(x) * plan.channels + channel;
      unsigned char* const put = to + column * plan.pixel_bytes + piece * 16;
#pragma unroll 4
      for (int row = 0; row < count; ++row) {
        if (row_of[row] >= 0) begin_copy(put + row * plan.pitch * plan.pixel_bytes, first + row_of[row] * line);
      }
    }
  }

  int chunk;
  int64_t tile, image;
  PhaseSpan rows, columns;
};

}  // namespace tessera
