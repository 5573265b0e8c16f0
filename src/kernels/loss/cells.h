#pragma once
#include <limits>

#include "kernels/common/simd_math.h"
#include "kernels/loss/band.h"

// Note [Cells]
// The output pixels between the same four logits form a cell. Their logits need no memory beyond the cell: the four corners
// are interpolated down the rows first, then along each row, a few pixels at a time, with the classes of a pixel side by side
// in vectors. What a cell adds to the gradient of its corners is gathered likewise before it is written.

namespace tessera::TSR_SIMD {

inline constexpr int64_t kChunk = 16;  // pixels of a cell's row that are worked on together

// Lies below every logit, and may be interpolated: what the lanes past the last class hold.
template <class T>
inline constexpr T kNoClass = std::numeric_limits<T>::lowest() / 4;

template <class T>
TSR_INLINE T logit_at(const Band<T>& band, int64_t offset) {
  if (band.type == LogitType::kFloat) return static_cast<T>(static_cast<const float*>(band.logits)[offset]);
  if (band.type == LogitType::kDouble) return static_cast<T>(static_cast<const double*>(band.logits)[offset]);
  const uint32_t bits = static_cast<uint32_t>(static_cast<const uint16_t*>(band.logits)[offset]) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return static_cast<T>(value);
}

// Row y of the logits as (width, padded) numbers.
template <class T>
inline void load_row(const Band<T>& band, int64_t y, int64_t padded, T* to) {
  for (int64_t x = 0; x < band.width; ++x, to += padded) {
    const int64_t offset = y * band.stride_y + x * band.stride_x;
    for (int64_t c = 0; c < band.classes; ++c) to[c] = logit_at(band, offset + c * band.stride_class);
    for (int64_t c = band.classes; c < padded; ++c) to[c] = kNoClass<T>;
  }
}

// Up to kChunk pixels of one output row, all in one cell. The logits of pixel x are left + columns.weight[x] * step.
template <class T>
struct CellRow {
  int64_t y, x_begin, x_end;
  int64_t top, bottom, left_column, right_column;  // the corners
  T bottom_weight;
  const T* left;
  const T* step;
};

// The walk keeps two rows of logits and one row of a cell: this many numbers.
inline int64_t walk_scratch(int64_t width, int64_t padded) {
  return 2 * (width + 1) * padded;
}

// Calls visit(CellRow) for all pixels of the band, cell by cell. `scratch`: walk_scratch numbers.
template <class T, int L, class Visit>
TSR_INLINE void walk_cells(const Band<T>& band, int64_t padded, T* scratch, Visit&& visit) {
  T* row[2] = {scratch, scratch + band.width * padded};
  T* const left = row[1] + band.width * padded;
  T* const step = left + padded;
  int64_t held[2] = {-1, -1};
  const auto hold = [&](int64_t slot, int64_t y) {
    if (held[slot] == y) return;
    load_row(band, y, padded, row[slot]);
    held[slot] = y;
  };
  const AxisView<T>& rows = band.rows;
  const AxisView<T>& columns = band.columns;
  for (int64_t y_begin = band.begin, y_end = 0; y_begin < band.end; y_begin = y_end) {
    const int64_t top = rows.first[y_begin], bottom = rows.second[y_begin];
    for (y_end = y_begin + 1; y_end < band.end && rows.first[y_end] == top && rows.second[y_end] == bottom;) ++y_end;
    if (held[1] == top) {  // the next cells down
      std::swap(row[0], row[1]);
      std::swap(held[0], held[1]);
    }
    hold(0, top);
    hold(1, bottom);
    for (int64_t x_begin = 0, x_end = 0; x_begin < band.out_width; x_begin = x_end) {
      const int64_t x0 = columns.first[x_begin], x1 = columns.second[x_begin];
      for (x_end = x_begin + 1; x_end < band.out_width && columns.first[x_end] == x0 && columns.second[x_end] == x1;) ++x_end;
      for (int64_t y = y_begin; y < y_end; ++y) {
        const T b = rows.weight[y];
        for (int64_t c = 0; c < padded; c += L) {
          const auto corner = [&](int r, int64_t x) { return load<T, L>(row[r] + x * padded + c); };
          const V<T, L> l = corner(0, x0) + b * (corner(1, x0) - corner(0, x0));
          const V<T, L> r = corner(0, x1) + b * (corner(1, x1) - corner(0, x1));
          store<T, L>(left + c, l);
          store<T, L>(step + c, r - l);
        }
        for (int64_t x = x_begin; x < x_end; x += kChunk) {
          visit(CellRow<T>{y, x, x_end < x + kChunk ? x_end : x + kChunk, top, bottom, x0, x1, b, left, step});
        }
      }
    }
  }
}

}  // namespace tessera::TSR_SIMD
