#pragma once
#include <optional>

#include "cuda/loss/logit_arguments.h"
#include "cuda/loss/pixel_tile.h"

namespace tessera {

// Logits whose classes lie side by side, cut into tiles; see Note [Tiles of pixels].
struct LogitTiles {
  PixelTiles cut;
  TilePitch pitch, gradient_pitch;
  int gradient_row;  // elements of a pixel's gradient: the classes, and zeros up to the next pixel where rows are padded
  int pack;          // logits of a row that are read together
  bool store_packs;  // so many may also be written together
  size_t tile_bytes, gradient_bytes;

  // Where the tile begins in the logits.
  __device__ int64_t offset(const LogitArguments& a, int64_t tile) const {
    const int64_t run = cut.run_of(tile);
    return run / cut.runs_in_image * a.strides.image + run % cut.runs_in_image * a.strides.row +
           static_cast<int64_t>(cut.first(tile)) * pitch.global;
  }
  __device__ int image(int64_t tile) const { return static_cast<int>(cut.run_of(tile) / cut.runs_in_image); }
  // The number of its first pixel among all pixels of all images.
  __device__ int64_t first_pixel(int64_t tile) const { return cut.run_of(tile) * cut.run + cut.first(tile); }
};

// Smaller tiles, as many as a multiprocessor holds: some are loaded while others are computed.
inline constexpr int kMostTilePixels = 64, kLeastTilePixels = 32;
inline constexpr size_t kTileBytes = 40 << 10;
inline constexpr size_t kMostTileBytes = 96 << 10;  // every GPU since sm_80 has as much for a block

// Elements from row to row that keep a warp's threads in different banks, where the row is whole pieces of 16 bytes.
inline int spread_pitch(int pitch, int wide) {
  return pitch % wide != 0 || pitch / wide % 2 == 1 ? pitch : pitch + wide;
}

// Whether a few numbers behind the classes fill each pixel's row up, as in the logits of a padded product. The gradient then
// has such rows too, with zeros there.
inline bool has_padded_rows(const LogitArguments& a) {
  constexpr int64_t kMostPadding = 8;
  const Strides& s = a.strides;
  return s.channel == 1 && s.column > a.classes && s.column < a.classes + kMostPadding && s.row == a.columns.in * s.column &&
         s.image == a.rows.in * s.row;
}

// Returns nothing where the classes do not lie side by side, or are too many.
inline std::optional<LogitTiles> plan_tiles(const LogitArguments& a, size_t element) {
  const Strides& s = a.strides;
  const int64_t height = a.rows.in, width = a.columns.in;
  if ((s.channel != 1 && a.classes > 1) || s.column < a.classes || s.column > 2 * a.classes + 16) return {};
  const bool whole_images = s.row == width * s.column || height == 1;
  if (height * width > INT32_MAX || a.images == 0) return {};
  const int pitch = static_cast<int>(s.column), wide = static_cast<int>(16 / element);
  const auto aligned = [&](int pack) {
    return is_aligned(a.logits, pack * element) && pitch % pack == 0 && (a.images == 1 || s.image % pack == 0) &&
           (whole_images || s.row % pack == 0);
  };
  LogitTiles tiles{};
  tiles.pack = aligned(wide) ? wide : element == 2 && aligned(2) ? 2 : 1;
  tiles.pitch = {pitch, tiles.pack == wide ? spread_pitch(pitch, wide) : pitch};
  const bool padded = has_padded_rows(a);
  tiles.gradient_pitch = padded ? tiles.pitch : TilePitch{a.classes, spread_pitch(a.classes, wide)};
  tiles.gradient_row = padded ? pitch : a.classes;
  tiles.cut.run = static_cast<int>(whole_images ? height * width : width);
  tiles.cut.runs_in_image = static_cast<int>(whole_images ? 1 : height);
  const bool in_place = tiles.pitch.shared == tiles.gradient_pitch.shared;
  tiles.store_packs = tiles.gradient_pitch.shared % tiles.pack == 0 &&
                      (in_place || static_cast<int64_t>(tiles.cut.run) * a.classes % tiles.pack == 0);
  const auto bytes = [&](TilePitch p) { return (tiles.cut.pixels * p.shared * element + 31) / 16 * 16; };
  for (tiles.cut.pixels = kMostTilePixels;; tiles.cut.pixels /= 2) {
    tiles.tile_bytes = bytes(tiles.pitch);
    tiles.gradient_bytes = in_place ? 0 : bytes(tiles.gradient_pitch);
    if (tiles.tile_bytes <= kTileBytes || tiles.cut.pixels == kLeastTilePixels) break;
  }
  if (tiles.tile_bytes + tiles.gradient_bytes > kMostTileBytes) return {};
  tiles.cut.tiles = (tiles.cut.run + tiles.cut.pixels - 1) / tiles.cut.pixels;
  tiles.cut.count = static_cast<int64_t>(a.images) * tiles.cut.runs_in_image * tiles.cut.tiles;
  return tiles;
}

// work(a number of the logits' type, how many are read together as a constant).
template <class T, class Work>
void with_packs(NumberType type, const LogitTiles& tiles, Work&& work) {
  with_stored_type<T>(type, [&](auto stored) {
    constexpr int kWide = 16 / static_cast<int>(sizeof stored);
    if (tiles.pack == kWide) return work(stored, std::integral_constant<int, kWide>());
    if constexpr (sizeof stored == 2) {
      if (tiles.pack == 2) return work(stored, std::integral_constant<int, 2>());
    }
    work(stored, std::integral_constant<int, 1>());
  });
}

// Brings the block's tile into shared memory.
template <class S>
__device__ __forceinline__ PixelTile<S> load_tile(const LogitArguments& a, const LogitTiles& tiles) {
  const int64_t index = blockIdx.x;
  const S* const begin = static_cast<const S*>(a.logits) + tiles.offset(a, index);
  const PixelTile<S> tile(const_cast<S*>(begin), shared_memory<S>(), tiles.pitch, tiles.cut.size(index), a.classes);
  tile.load();
  __syncthreads();
  return tile;
}

}  // namespace tessera
