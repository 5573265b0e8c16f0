#pragma once
// The grids of the kernels of norm_act.cu.
#include <ATen/ATen.h>

#include <algorithm>
#include <initializer_list>

#include "cuda/norm_rows.h"

namespace tessera {

// Groups [first, first + at most kMostGroups) of those that end at `ends`, in about `blocks` blocks of packs of `pack`
// channels.
inline NormRows norm_rows(int64_t channels, int64_t pixels, at::IntArrayRef ends, size_t first, int pack, int64_t blocks) {
  constexpr int64_t kRowsOfAThread = 4;
  NormRows rows{};
  rows.channels = channels;
  rows.pixels = pixels;
  rows.start = first == 0 ? 0 : ends[first - 1];
  rows.groups = static_cast<int>(std::min<size_t>(kMostGroups, ends.size() - first));
  rows.columns = 1;
  while (rows.columns < 32 && rows.columns * pack < channels) rows.columns *= 2;
  int64_t longest = 0;
  for (int g = 0; g < rows.groups; ++g) {
    rows.ends[g] = static_cast<int>(ends[first + static_cast<size_t>(g)]);
    longest = std::max(longest, rows.count(g));
  }
  const int64_t stretch = rows.columns * pack, stretches = (channels + stretch - 1) / stretch;
  const int64_t wanted = std::max<int64_t>(1, blocks / (stretches * rows.groups));
  rows.chunk_rows = std::max((longest + wanted - 1) / wanted, kNormThreads / rows.columns * kRowsOfAThread);
  rows.chunks = static_cast<int>((longest + rows.chunk_rows - 1) / rows.chunk_rows);
  return rows;
}

// Four blocks on each of an H200's 132 processors keep its memory busy; the fewer sums, the less there is to add up at the end.
inline constexpr int64_t kSumBlocks = 528, kApplyBlocks = 2112;

template <class Call>
void with_norm_type(at::ScalarType type, Call&& call) {
  switch (type) {
    case at::kDouble: return call(double{});
    case at::kHalf: return call(at::Half{});
    case at::kBFloat16: return call(at::BFloat16{});
    default: return call(float{});
  }
}

// Calls call(S{}, pack, rows, first group) for all groups, kMostGroups at a time.
template <class Call>
void for_each_launch(const at::Tensor& x, at::IntArrayRef ends, std::initializer_list<const void*> pointers, int64_t blocks,
                     Call&& call) {
  with_norm_type(x.scalar_type(), [&](auto zero) {
    using S = decltype(zero);
    constexpr int kWide = 16 / static_cast<int>(sizeof(S));
    bool wide = x.size(1) % kWide == 0;
    for (const void* pointer : pointers) wide = wide && reinterpret_cast<uintptr_t>(pointer) % 16 == 0;
    for (size_t first = 0; first < ends.size(); first += kMostGroups) {
      const NormRows rows = norm_rows(x.size(1), x.size(2) * x.size(3), ends, first, wide ? kWide : 1, blocks);
      if (wide) {
        call(zero, std::integral_constant<int, kWide>{}, rows, static_cast<int64_t>(first));
      } else {
        call(zero, std::integral_constant<int, 1>{}, rows, static_cast<int64_t>(first));
      }
    }
  });
}

inline dim3 grid_of(const NormRows& rows, int pack) {
  const int64_t stretch = rows.columns * pack;
  return {static_cast<unsigned>((rows.channels + stretch - 1) / stretch), static_cast<unsigned>(rows.chunks),
          static_cast<unsigned>(rows.groups)};
}
inline unsigned end_grid_of(const NormRows& rows) {
  return static_cast<unsigned>((rows.channels + PartialSums::kChannels - 1) / PartialSums::kChannels);
}
inline int end_threads_of(const NormRows& rows) {
  int lanes = 1;
  while (lanes < PartialSums::kMostLanes && lanes < rows.chunks) lanes *= 2;
  return PartialSums::kChannels * lanes;
}

inline at::Tensor scratch_for(const NormRows& rows, const at::Tensor& x) {
  return at::empty({rows.groups, rows.chunks, 2, rows.channels}, at::TensorOptions(x.device()).dtype(at::kDouble));
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
