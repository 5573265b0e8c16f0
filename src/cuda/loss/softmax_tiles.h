#pragma once
#include "cuda/common/block_sum.h"
#include "cuda/loss/logit_tiles.h"
#include "cuda/loss/pixel_softmax.h"

// Logits of the labels' own size, a thread a pixel. Traffic: the logits are read once for the sums; for the gradient they are
// read once more and it is written. Beside that 4 bytes a pixel, the log of its sum, go out and come back.

namespace tessera {

// See pixel_sums; `values`: null, or (tiles), each tile's cross entropy.
template <class T, class S, int kPack>
__global__ void tile_sums_kernel(const SoftmaxArguments<T> a, const LogitTiles tiles, double* values) {
  __shared__ double scratch[32];
  const PixelTile<S> tile = load_tile<S>(a, tiles);
  const int own = static_cast<int>(threadIdx.x);
  T value = 0;
  if (own < tile.size) {
    const SharedRow<T, S, kPack> row{tile.shared + own * tile.pitch.shared};
    value = pixel_sums(a, tiles.image(blockIdx.x), tiles.first_pixel(blockIdx.x) + own, row);
  }
  if (values == nullptr) return;
  const double sum = block_sum(static_cast<double>(value), scratch);
  if (own == 0) values[blockIdx.x] = sum;
}

// The gradient, first over the logits in shared memory, or where its pixels lie closer together behind them.
template <class T, class S, int kPack, LossTask kTask>
__global__ void tile_gradient_kernel(const SoftmaxArguments<T> a, const LogitTiles tiles, const double* grad_out, S* gradient) {
  const PixelTile<S> tile = load_tile<S>(a, tiles);
  const int64_t first = tiles.first_pixel(blockIdx.x);
  const bool in_place = tiles.pitch.shared == tiles.gradient_pitch.shared;
  const PixelTile<S> result(gradient + first * tiles.gradient_pitch.global, shared_memory<S>() + tiles.tile_bytes / sizeof(S),
                            tiles.gradient_pitch, tile.size, tiles.gradient_row);
  S* const to = in_place ? tile.shared : result.shared;
  const int own = static_cast<int>(threadIdx.x);
  if (own < tile.size) {
    const int image = tiles.image(blockIdx.x);
    const SharedRow<T, S, kPack> row{tile.shared + own * tile.pitch.shared};
    S* const at = to + own * tiles.gradient_pitch.shared;
    if (tiles.store_packs) {
      pixel_gradient<kTask>(a, image, first + own, grad_out, row, SharedRow<T, S, kPack>{at});
    } else {
      pixel_gradient<kTask>(a, image, first + own, grad_out, row, SharedRow<T, S, 1>{at});
    }
    for (int c = a.classes; c < tiles.gradient_row; ++c) at[c] = S(0);
  }
  __syncthreads();
  result.store(to);
}

}  // namespace tessera
