#pragma once
// How the kernel of depthwise_conv.cu cuts its work: a block has a tile of output pixels and a chunk of channels; its threads
// take chains of pixels.
#include <ATen/core/Tensor.h>

#include <algorithm>

#include "cuda/async_copy.h"
#include "cuda/channel_vector.h"

namespace tessera {

inline constexpr int kTileThreads = 128;
inline constexpr int kTileRows = 16, kTileColumns = 32;  // at most, where an image is cut at all
inline constexpr int kChunkBytes = 64;                   // of a pixel: two sectors; wider chunks would leave smaller tiles
inline constexpr int kChain = 8;                         // output pixels, a dilation apart, that a thread slides over
inline constexpr int kMostChainLanes = 4;
inline constexpr int kWindowBytes = 72 << 10;  // three blocks share an H200's multiprocessor, one fits a GeForce's

struct DepthwisePlan {
  int height, width, channels, dilation;
  int rows, columns, down, across;       // of a tile; tiles of an image
  int lanes, chunks;                     // vectors of a chunk, a power of two; chunks of a pixel
  int phases, chains, chain_lanes;       // columns before the first repeats a dilation further; chains of a tile's row
  bool windowed;                         // the window lies in shared memory
  int pitch, pixel_bytes, window_bytes;  // of it: pixels from row to row, odd, so that rows side by side meet no bank twice

  void cut(int most_rows, int most_columns) {
    down = static_cast<int>(divide_up(height, most_rows));
    across = static_cast<int>(divide_up(width, most_columns));
    rows = static_cast<int>(divide_up(height, down));
    columns = static_cast<int>(divide_up(width, across));
    pitch = std::min(width, columns + 2 * dilation) | 1;
    const int64_t bytes = static_cast<int64_t>(std::min(height, rows + 2 * dilation)) * pitch * pixel_bytes;
    windowed = bytes <= kWindowBytes;
    window_bytes = windowed ? static_cast<int>(bytes) : 0;
  }
};

// For vectors of `vector` channels; `whole`: pixels are multiples of 16 bytes. A tile's window has a dilation more on each
// side, as far as the image goes. Where that would be more than the tile itself the image stays whole. What does not fit shared
// memory is read from the caches.
inline DepthwisePlan depthwise_plan(const at::Tensor& x, int64_t dilation, int vector, bool whole) {
  DepthwisePlan plan{};
  plan.channels = static_cast<int>(x.size(1));
  plan.height = static_cast<int>(x.size(2));
  plan.width = static_cast<int>(x.size(3));
  // Past the image's edge one dilation is like another.
  plan.dilation = static_cast<int>(std::min<int64_t>(dilation, std::max(plan.height, plan.width)));
  const int bytes = vector * static_cast<int>(x.element_size()), most_lanes = whole ? kChunkBytes / bytes : 32;
  plan.lanes = 1;
  while (plan.lanes < most_lanes && plan.lanes * vector < plan.channels) plan.lanes *= 2;
  plan.chunks = static_cast<int>(divide_up(plan.channels, plan.lanes * vector));
  plan.pixel_bytes = plan.lanes * bytes;
  if (2 * plan.dilation > kTileRows) plan.cut(plan.height, plan.width);
  if (!plan.windowed) plan.cut(kTileRows, kTileColumns);
  plan.windowed = plan.windowed && whole;
  plan.phases = std::min(plan.dilation, plan.columns);
  plan.chains = plan.phases * static_cast<int>(divide_up(divide_up(plan.columns, plan.dilation), kChain));
  plan.chain_lanes = 1;
  while (plan.chain_lanes < kMostChainLanes && plan.chain_lanes < plan.chains) plan.chain_lanes *= 2;
  return plan;
}

// A block's tile: outputs [y, y + rows) x [x, x + columns) of an image, and the window that they read.
struct DepthwiseTile {
  __device__ DepthwiseTile(const DepthwisePlan& plan, int64_t block) {
    chunk = static_cast<int>(block % plan.chunks);
    number = block / plan.chunks;
    image = number / (plan.down * plan.across);
    const int place = static_cast<int>(number % (plan.down * plan.across));
    y = place / plan.across * plan.rows;
    x = place % plan.across * plan.columns;
    rows = min(plan.rows, plan.height - y);
    columns = min(plan.columns, plan.width - x);
    top = max(0, y - plan.dilation);
    left = max(0, x - plan.dilation);
    window_rows = min(plan.height, y + rows + plan.dilation) - top;
    window_columns = min(plan.width, x + columns + plan.dilation) - left;
  }

  // Begins to bring the window of an image's channels from `channel` on; all threads together.
  template <class S>
  __device__ void begin_window(const DepthwisePlan& plan, const S* from, int channel, unsigned char* window) const {
    constexpr int kPiece = 16 / static_cast<int>(sizeof(S));
    const int pieces = plan.pixel_bytes / 16, step = kTileThreads / pieces;
    const int piece = static_cast<int>(threadIdx.x) % pieces, pixel = static_cast<int>(threadIdx.x) / pieces;
    if (channel + piece * kPiece >= plan.channels) return;
    const int step_rows = step / window_columns, step_columns = step % window_columns;
    int row = pixel / window_columns, column = pixel % window_columns;
    const S* const corner = from + (static_cast<int64_t>(top) * plan.width + left) * plan.channels + channel + piece * kPiece;
    while (row < window_rows) {
      begin_copy(window + (row * plan.pitch + column) * plan.pixel_bytes + piece * 16,
                 corner + (static_cast<int64_t>(row) * plan.width + column) * plan.channels);
      row += step_rows;
      column += step_columns;
      if (column >= window_columns) {
        column -= window_columns;
        ++row;
      }
    }
  }

  int64_t number, image;
  int chunk, y, x, rows, columns, top, left, window_rows, window_columns;
};

}  // namespace tessera
