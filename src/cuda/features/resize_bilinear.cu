#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>

#include <algorithm>

#include "cuda/common/channel_vector.h"
#include "kernels/common/axis.h"
#include "kernels/features/resize_cpu.h"

// Features resized, forward and backward. Both are bound by traffic: forward writes the output once and reads the input, whose
// four neighbours of a pixel come from the caches; backward reads the output's gradient from memory once (a row serves two
// input rows, the second time from L2) and writes the input's.

namespace tessera {
namespace {

// An AxisPoint with the weight as it is used.
template <class T>
struct Column {
  int32_t first, second;
  T weight;
};

// Fills table[i] for outputs begin + i, all threads together.
template <class T>
__device__ void fill_columns(const AxisRule& rule, int64_t begin, int count, Column<T>* table) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kBlockThreads) {
    const AxisPoint point = rule(begin + i);
    table[i] = {point.first, point.second, static_cast<T>(point.weight)};
  }
}

// One tensor of a concatenation. Its blocks start at `first_block`; each makes a tile of `columns` x `vectors` of an output
// row.
struct Part {
  const void* x;
  Strides strides;
  int height, width, vectors, channel;  // the first channel of its slice
  int tile_columns, tile_vectors, column_tiles, vector_tiles;
  int64_t first_block;
};
constexpr int kMostParts = 8;
struct Parts {
  Part part[kMostParts];
  int count;
};

template <class S, int V>
__global__ void __launch_bounds__(kBlockThreads) resize_kernel(const __grid_constant__ Parts parts, S* out, Strides strides,
                                                               int height, int width, bool align_corners, bool by_channels) {
  using T = Compute<S>;
  __shared__ Column<T> table[kBlockVectors];
  int which = 0;
  while (which + 1 < parts.count && static_cast<int64_t>(blockIdx.x) >= parts.part[which + 1].first_block) ++which;
  const Part& p = parts.part[which];
  int64_t tile = static_cast<int64_t>(blockIdx.x) - p.first_block;
  const int first_column = static_cast<int>(tile % p.column_tiles) * p.tile_columns;
  tile /= p.column_tiles;
  const int first_vector = static_cast<int>(tile % p.vector_tiles) * p.tile_vectors;
  tile /= p.vector_tiles;
  const int y = static_cast<int>(tile % height);
  const int64_t n = tile / height;
  const int columns = min(p.tile_columns, width - first_column), vectors = min(p.tile_vectors, p.vectors - first_vector);
  const bool same = p.height == height && p.width == width;
  if (!same) fill_columns(AxisRule(p.width, width, align_corners), first_column, columns, table);
  __syncthreads();
  const AxisPoint row = same ? AxisPoint{y, y, 0} : AxisRule(p.height, height, align_corners)(y);
  const T down = static_cast<T>(row.weight);
  const S* const image = static_cast<const S*>(p.x) + n * p.strides.image;
  const S* const top = image + row.first * p.strides.row;
  const S* const bottom = image + row.second * p.strides.row;
  S* const to = out + n * strides.image + y * strides.row + p.channel * strides.channel;
  for (int i = static_cast<int>(threadIdx.x); i < columns * vectors; i += kBlockThreads) {
    const int x = by_channels ? i / vectors : i % columns;
    const int c = (first_vector + (by_channels ? i % vectors : i / columns)) * V;
    S* const place = to + (first_column + x) * strides.column + c * strides.channel;
    const int64_t channel = c * p.strides.channel;
    if (same) {
      const auto copied = load_channels<S, V>(top + (first_column + x) * p.strides.column + channel);
      *reinterpret_cast<Channels<S, V>*>(place) = copied;
      continue;
    }
    const Column<T> column = table[x];
    const int64_t left = column.first * p.strides.column + channel, right = column.second * p.strides.column + channel;
    const auto a = load_channels<S, V>(top + left), b = load_channels<S, V>(top + right);
    const auto d = load_channels<S, V>(bottom + left), e = load_channels<S, V>(bottom + right);
    T mixed[V];
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const T above = static_cast<T>(a.value[k]) + column.weight * (static_cast<T>(b.value[k]) - static_cast<T>(a.value[k]));
      const T below = static_cast<T>(d.value[k]) + column.weight * (static_cast<T>(e.value[k]) - static_cast<T>(d.value[k]));
      mixed[k] = above + down * (below - above);
    }
    store_channels<S, V>(place, mixed);
  }
}

// The gradient of `height` x `width` inputs. A block has kBlockThreads / groups places in an input row, each a pixel and a
// vector of its channels; group g of a place sums every groups-th output row that reads it, the first group adds the sums up in
// order.
template <class S, int V>
__global__ void __launch_bounds__(kBlockThreads)
    resize_backward_kernel(const S* grad_out, Strides strides, int out_height, int out_width, S* result, Strides result_strides,
                           int height, int width, int vectors, int groups, int blocks_per_row, bool align_corners,
                           bool by_channels) {
  using T = Compute<S>;
  __shared__ Column<T> table[kBlockVectors];
  __shared__ T sums[kBlockThreads][V];
  const int places = kBlockThreads / groups, place = static_cast<int>(threadIdx.x) % places,
            group = static_cast<int>(threadIdx.x) / places;
  const int64_t row = static_cast<int64_t>(blockIdx.x) / blocks_per_row, n = row / height;
  const int y = static_cast<int>(row % height);
  const int all = width * vectors, begin = static_cast<int>(static_cast<int64_t>(blockIdx.x) % blocks_per_row) * places,
            end = min(begin + places, all);
  const bool mine = begin + place < end;
  const int item = mine ? begin + place : begin;
  const int x = by_channels ? item / vectors : item % width, c = (by_channels ? item % vectors : item / width) * V;
  // The columns of all places of the block.
  int first = by_channels ? begin / vectors : begin % width, last = by_channels ? (end - 1) / vectors : (end - 1) % width;
  if (!by_channels && begin / width != (end - 1) / width) {
    first = 0;
    last = width - 1;
  }
  const AxisRule rows(height, out_height, align_corners), columns(width, out_width, align_corners);
  const AxisRange above = rows.readers(y), beside = columns.readers(x);
  const int64_t table_end = columns.readers(last).end;
  const S* const from = grad_out + n * strides.image + c * strides.channel;
  T sum[V] = {};
  for (int64_t chunk = columns.readers(first).begin; chunk < table_end; chunk += kBlockVectors) {
    __syncthreads();
    fill_columns(columns, chunk, static_cast<int>(min(table_end - chunk, static_cast<int64_t>(kBlockVectors))), table);
    __syncthreads();
    if (!mine) continue;
    const auto column_weight = [&](int i) { return weight_of(x, table[i].first, table[i].second, table[i].weight); };
    int i_begin = static_cast<int>(max(beside.begin - chunk, static_cast<int64_t>(0)));
    int i_end = static_cast<int>(min(beside.end - chunk, static_cast<int64_t>(kBlockVectors)));
    while (i_begin < i_end && column_weight(i_begin) == T(0)) ++i_begin;
    while (i_begin < i_end && column_weight(i_end - 1) == T(0)) --i_end;
    for (int64_t out_y = above.begin + group; out_y < above.end; out_y += groups) {
      const AxisPoint point = rows(out_y);
      const T row_weight = weight_of(y, point.first, point.second, static_cast<T>(point.weight));
      if (row_weight == T(0)) continue;
      const S* const line = from + out_y * strides.row + chunk * strides.column;
#pragma unroll 4
      for (int i = i_begin; i < i_end; ++i) {
        const auto values = load_channels<S, V>(line + i * strides.column);
        const T part = row_weight * column_weight(i);
#pragma unroll
        for (int k = 0; k < V; ++k) sum[k] += part * static_cast<T>(values.value[k]);
      }
    }
  }
  if (groups > 1) {
    for (int k = 0; k < V; ++k) sums[threadIdx.x][k] = sum[k];
    __syncthreads();
    if (group > 0) return;
    for (int other = 1; other < groups; ++other) {
      for (int k = 0; k < V; ++k) sum[k] += sums[other * places + place][k];
    }
  }
  if (mine) {
    store_channels<S, V>(
        result + n * result_strides.image + y * result_strides.row + x * result_strides.column + c * result_strides.channel,
        sum);
  }
}

// Writes each tensor, resized, into its channels of `out`, in one launch per kMostParts of them.
void resize_into(at::TensorList xs, const at::Tensor& out, bool align_corners) {
  const DeviceGuard guard(out.device());
  const bool by_channels = goes_by_channels(out);
  const int height = static_cast<int>(out.size(2)), width = static_cast<int>(out.size(3));
  for (size_t begin = 0, channel = 0; begin < xs.size(); begin += kMostParts) {
    Parts parts{};
    bool vectors = fits_vectors(out) && channel % kVector == 0;
    const size_t count = std::min<size_t>(kMostParts, xs.size() - begin);
    for (size_t i = begin; i < begin + count; ++i) vectors = vectors && fits_vectors(xs[i]);
    int64_t blocks = 0;
    for (size_t i = begin; i < begin + count; ++i) {
      const at::Tensor& x = xs[i];
      const int each = static_cast<int>(x.size(1)) / (vectors ? kVector : 1);
      Part& p = parts.part[parts.count++];
      p = {x.const_data_ptr(),
           strides_of(x),
           static_cast<int>(x.size(2)),
           static_cast<int>(x.size(3)),
           each,
           static_cast<int>(channel),
           0,
           0,
           0,
           0,
           blocks};
      // About kBlockVectors vectors a block, four a thread: whole pixels where channels lie side by side, else whole stretches
      // of rows.
      p.tile_columns = by_channels ? std::clamp(kBlockVectors / each, 1, width) : std::min(kBlockVectors, width);
      p.tile_vectors = by_channels ? each : std::clamp(kBlockVectors / p.tile_columns, 1, each);
      p.column_tiles = static_cast<int>(divide_up(width, p.tile_columns));
      p.vector_tiles = static_cast<int>(divide_up(each, p.tile_vectors));
      blocks += x.size(0) * height * p.column_tiles * p.vector_tiles;
      channel += static_cast<size_t>(x.size(1));
    }
    TORCH_CHECK(blocks <= INT32_MAX, "an output of ", height, " x ", width, " pixels is too large for one launch");
    if (blocks == 0) continue;
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, out.scalar_type(), "resize_bilinear", [&] {
      launch(vectors ? resize_kernel<scalar_t, kVector> : resize_kernel<scalar_t, 1>, static_cast<unsigned>(blocks),
             kBlockThreads, 0, parts, out.mutable_data_ptr<scalar_t>(), strides_of(out), height, width, align_corners,
             by_channels);
    });
  }
}

at::Tensor resize_bilinear_cuda(const at::Tensor& x, at::IntArrayRef size, bool align_corners) {
  const at::Tensor out = empty_concat(x, size);
  resize_into(x, out, align_corners);
  return out;
}

at::Tensor resize_concat_cuda(at::TensorList xs, at::IntArrayRef size, bool align_corners) {
  const at::Tensor out = empty_concat(xs, size);
  resize_into(xs, out, align_corners);
  return out;
}

at::Tensor resize_bilinear_backward_cuda(const at::Tensor& grad_out, at::IntArrayRef size, bool align_corners) {
  const DeviceGuard guard(grad_out.device());
  const bool by_channels = goes_by_channels(grad_out);
  const at::Tensor result = at::empty({grad_out.size(0), grad_out.size(1), size[0], size[1]}, grad_out.options(),
                                      by_channels ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous);
  if (result.numel() == 0) return result;
  const bool vectors = fits_vectors(grad_out);
  const int64_t each = grad_out.size(1) / (vectors ? kVector : 1), rows = grad_out.size(0) * size[0];
  // Few inputs with many readers are summed by several threads each, as many as fill a GPU and have rows to sum. The number
  // follows from the shapes alone, and with it the order of the sums.
  constexpr int64_t kEnoughThreads = 1 << 17, kMostGroups = 32;
  int groups = 1;
  while (groups < kMostGroups && rows * size[1] * each * groups < kEnoughThreads && groups * size[0] <= grad_out.size(2)) {
    groups *= 2;
  }
  const int64_t blocks_per_row = divide_up(size[1] * each, kBlockThreads / groups);
  TORCH_CHECK(rows * blocks_per_row <= INT32_MAX && size[1] * each <= INT32_MAX, "features of ", size[0], " x ", size[1],
              " pixels are too large for one launch");
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, grad_out.scalar_type(), "resize_bilinear_backward", [&] {
    launch(vectors ? resize_backward_kernel<scalar_t, kVector> : resize_backward_kernel<scalar_t, 1>,
           static_cast<unsigned>(rows * blocks_per_row), kBlockThreads, 0, grad_out.const_data_ptr<scalar_t>(),
           strides_of(grad_out), static_cast<int>(grad_out.size(2)), static_cast<int>(grad_out.size(3)),
           result.mutable_data_ptr<scalar_t>(), strides_of(result), static_cast<int>(size[0]), static_cast<int>(size[1]),
           static_cast<int>(each), groups, static_cast<int>(blocks_per_row), align_corners, by_channels);
  });
  return result;
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("resize_bilinear", resize_bilinear_cuda);
  m.impl("resize_bilinear_backward", resize_bilinear_backward_cuda);
  m.impl("resize_concat", resize_concat_cuda);
}

}  // namespace tessera
