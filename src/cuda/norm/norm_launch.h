#pragma once
// The grids of the kernels of norm_act.cu.
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <initializer_list>
#include <limits>

#include "cuda/norm/norm_shapes.h"

namespace tessera {

inline constexpr int kProcessors = 132;  // of an H200; not asked for, as sums would then depend on the GPU

// A stretch's packs: of powers of two up to `most` that which leaves the fewest threads without channels.
inline int column_bits_for(int64_t packs, int64_t most) {
  int best = 0;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int bits = 0; 1 << bits <= most; ++bits) {
    const int64_t columns = 1 << bits, filled = (packs + columns - 1) / columns * columns;
    if (columns / 2 >= packs) break;
    if (columns > 8 && filled > least) continue;
    best = bits;
    least = filled;
  }
  return best;
}

// Groups [first, first + at most kMostGroups) of those that end at `ends`, in packs of `pack` channels.
inline NormRows norm_rows(const at::Tensor& x, at::IntArrayRef ends, size_t first, int pack, int most_channels,
                          const NormShape& shape) {
  TORCH_CHECK(x.numel() / x.size(1) <= std::numeric_limits<int>::max() / 2, "batch norm expects up to 2^30 pixels, got ",
              x.numel() / x.size(1));
  NormRows rows{};
  rows.channels = x.size(1);
  rows.pixels = static_cast<int>(x.size(2) * x.size(3));
  rows.start = static_cast<int>(first == 0 ? 0 : ends[first - 1]);
  rows.groups = static_cast<int>(std::min<size_t>(kMostGroups, ends.size() - first));
  const int64_t packs = (rows.channels + pack - 1) / pack;
  rows.column_bits = column_bits_for(packs, std::min(32, most_channels / pack));
  rows.tile_rows = (shape.threads >> rows.column_bits) * shape.unroll;
  for (int g = 0; g < rows.groups; ++g) rows.ends[g] = static_cast<int>(ends[first + static_cast<size_t>(g)]);
  const int64_t stretches = (packs + rows.columns() - 1) / rows.columns();
  const int blocks = kProcessors * shape.blocks;
  rows.most_chunks = static_cast<int>(std::max<int64_t>(1, blocks / stretches));
  return rows;
}

template <class Call>
void with_norm_type(at::ScalarType type, Call&& call) {
  switch (type) {
    case at::kDouble: return call(double{});
    case at::kHalf: return call(at::Half{});
    case at::kBFloat16: return call(at::BFloat16{});
    default: return call(float{});
  }
}

// Calls call(S{}, pack, first group) for all groups, kMostGroups at a time.
template <class Call>
void for_each_launch(const at::Tensor& x, at::IntArrayRef ends, std::initializer_list<const void*> pointers, Call&& call) {
  with_norm_type(x.scalar_type(), [&](auto zero) {
    using S = decltype(zero);
    constexpr int kWide = sizeof(S) == 8 ? 1 : 16 / static_cast<int>(sizeof(S));  // float64 is for checking
    bool wide = x.size(1) % kWide == 0;
    for (const void* pointer : pointers) wide = wide && is_aligned(pointer);
    for (size_t first = 0; first < ends.size(); first += kMostGroups) {
      if (wide) {
        call(zero, std::integral_constant<int, kWide>{}, first);
      } else {
        call(zero, std::integral_constant<int, 1>{}, first);
      }
    }
  });
}

inline dim3 grid_of(const NormRows& rows, int pack) {
  int chunks = 0;
  for (int g = 0; g < rows.groups; ++g) chunks = std::max(chunks, rows.chunks(g));
  return {blocks_for(rows.channels, rows.columns() * pack), static_cast<unsigned>(chunks), static_cast<unsigned>(rows.groups)};
}

// Activations are channels_last on GPUs. Another layout is turned around and back, which costs what one of these kernels costs:
// a second set of kernels would not be worth its length.
inline at::Tensor in_rows(const at::Tensor& x) {
  return x.contiguous(at::MemoryFormat::ChannelsLast);
}
inline at::Tensor laid_out_like(const at::Tensor& result, const at::Tensor& x) {
  return x.is_contiguous() ? result.contiguous() : result;
}

}  // namespace tessera
