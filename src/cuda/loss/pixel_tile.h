#pragma once
#include "cuda/common/async_copy.h"
#include "cuda/common/pack.h"

// Note [Tiles of pixels]
// Where the classes of a pixel lie side by side, a stretch of pixels is one piece of memory. A block brings such a tile into
// shared memory in 16-byte copies, whatever the number of classes, and each thread then walks along the row of its own pixel.
// Rows that are an odd number of 4-byte words keep a warp's threads in 32 different banks; rows of whole 16 bytes are read 16
// bytes at a time, and get an odd number of those. A tile starts as far from a 16-byte border in shared memory as it does in
// global memory.

namespace tessera {

// How a tensor's pixels are cut into tiles. A run: pixels that follow one another at one distance, an image's or a row's.
struct PixelTiles {
  int pixels;         // of a tile
  int run;            // pixels of a run
  int tiles;          // of a run
  int runs_in_image;  // 1, or the number of rows
  int64_t count;      // of all tiles

  __device__ int64_t run_of(int64_t tile) const { return tile / tiles; }
  __device__ int first(int64_t tile) const { return static_cast<int>(tile % tiles) * pixels; }
  __device__ int size(int64_t tile) const { return run - first(tile) < pixels ? run - first(tile) : pixels; }
};

// Elements from a pixel to the next.
struct TilePitch {
  int global, shared;
};

// Where a tile of `size` pixels begins: `global` in memory, `shared` as far from a 16-byte border.
template <class S>
struct PixelTile {
  static constexpr int kWide = 16 / static_cast<int>(sizeof(S));

  __device__ PixelTile(S* begin, S* memory, TilePitch distance, int pixels, int channels)
      : global(begin),
        shift(static_cast<int>(reinterpret_cast<uintptr_t>(begin) % 16 / sizeof(S))),
        shared(memory + shift),
        pitch(distance),
        size(pixels),
        classes(channels) {}

  // All threads of the block; a barrier must follow.
  __device__ void load() const {
    each_piece([this](int inside, int outside, int count) {
      if (count == kWide) {
        begin_copy(shared + inside, global + outside);
      } else {
        for (int j = 0; j < count; ++j) shared[inside + j] = global[outside + j];
      }
    });
    wait_for_copies();
  }
  // All threads of the block, after a barrier.
  __device__ void store(const S* from) const {
    const bool wide = reinterpret_cast<uintptr_t>(from) % 16 == shift * sizeof(S);
    each_piece([this, from, wide](int inside, int outside, int count) {
      if (count == kWide && wide) {
        store_pack(global + outside, load_pack<kWide>(from + inside));
      } else {
        for (int j = 0; j < count; ++j) global[outside + j] = from[inside + j];
      }
    });
  }

  S* const global;
  const int shift;
  S* const shared;
  const TilePitch pitch;
  const int size, classes;

 private:
  // The thread's part of the pieces between 16-byte borders: work(place in shared memory, place in memory, elements).
  template <class Work>
  __device__ void each_piece(Work&& work) const {
    const int threads = static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);
    if (pitch.global == pitch.shared) {
      const int end = (size - 1) * pitch.global + classes;
#pragma unroll 4
      for (int i = thread * kWide - shift; i < end; i += threads * kWide) {
        const int begin = i < 0 ? 0 : i, count = (i + kWide < end ? i + kWide : end) - begin;
        work(begin, begin, count);
      }
      return;
    }
    const int in_row = (classes + kWide - 1) / kWide;  // such rows are whole pieces of 16 bytes
#pragma unroll 4
    for (int i = thread; i < size * in_row; i += threads) {
      const int row = i / in_row, column = (i - row * in_row) * kWide;
      work(row * pitch.shared + column, row * pitch.global + column, column + kWide < classes ? kWide : classes - column);
    }
  }
};

}  // namespace tessera
