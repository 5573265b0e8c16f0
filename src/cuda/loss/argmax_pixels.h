#pragma once
#include <limits>

#include "cuda/loss/class_rows.h"
#include "cuda/loss/logit_tiles.h"
#include "cuda/loss/thread_pixel.h"

// Logits of the wanted size, a thread a pixel. Traffic: each logit is read once. classes: (N, H, W).

namespace tessera {

// The lowest class of a pixel's largest logit; of nothing but NaN, class 0.
template <class T, class Row>
__device__ __forceinline__ int row_argmax(const Row& row, int classes) {
  constexpr T kNone = -std::numeric_limits<T>::infinity();
  T best = kNone;
  int found = 0;
  each_class_group(classes, [&](auto group) {
    T z[decltype(group)::kCount];
    row.load(group, kNone, z);
#pragma unroll
    for (int j = 0; j < decltype(group)::kCount; ++j) {
      if (z[j] > best) {
        best = z[j];
        found = group.begin + j;
      }
    }
  });
  return found;
}

// Classes side by side, see Note [Tiles of pixels].
template <class T, class S, int kPack>
__global__ void tile_argmax_kernel(const LogitArguments a, const LogitTiles tiles, int16_t* classes) {
  const PixelTile<S> tile = load_tile<S>(a, tiles);
  const int own = static_cast<int>(threadIdx.x);
  if (own >= tile.size) return;
  const SharedRow<T, S, kPack> row{tile.shared + own * tile.pitch.shared};
  classes[tiles.first_pixel(blockIdx.x) + own] = static_cast<int16_t>(row_argmax<T>(row, a.classes));
}

// Columns side by side.
template <class T, class S>
__global__ void __launch_bounds__(kPlaneThreads) plane_argmax_kernel(const LogitArguments a, int16_t* classes) {
  const ThreadPixel p(a);
  if (p.image >= a.images) return;
  const S* const at = static_cast<const S*>(a.logits) + a.offset(p.image, p.y, p.x);
  classes[p.index] = static_cast<int16_t>(row_argmax<T>(PlaneRow<T, const S>{at, a.strides.channel}, a.classes));
}

}  // namespace tessera
