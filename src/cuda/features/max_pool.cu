#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "cuda/common/channel_vector.h"
#include "kernels/features/max_pool.h"

// Maxima of windows, channels side by side. Forward reads the features once (neighbours that share pixels find them in the
// caches) and writes maxima and one byte each; backward reads gradient and bytes likewise and writes the features' gradient.

namespace tessera {
namespace {

// A block's part of a row: `columns` pixels of `vectors` vectors each.
struct Tile {
  int columns, per_row;
};

template <class S, int V, bool kWithPositions>
__global__ void __launch_bounds__(kBlockThreads)
    max_pool_kernel(const S* features, Strides strides, PoolWindows rows, PoolWindows columns, S* result, uint8_t* positions,
                    int vectors, Tile tile) {
  using T = Compute<S>;
  const int64_t line = static_cast<int64_t>(blockIdx.x) / tile.per_row, n = line / rows.out, y = line % rows.out;
  const int first = static_cast<int>(static_cast<int64_t>(blockIdx.x) % tile.per_row) * tile.columns;
  const int count = min(tile.columns, static_cast<int>(columns.out) - first) * vectors;
  const int top = static_cast<int>(rows.begin(y)), bottom = static_cast<int>(rows.end(y));
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kBlockThreads) {
    const int x = first + i / vectors, c = i % vectors * V;
    const int left = static_cast<int>(columns.begin(x)), right = static_cast<int>(columns.end(x));
    const S* const image = features + n * strides.image + c;
    T most[V] = {};
    uint8_t tap[V] = {};
    for (int above = top; above < bottom; ++above) {
      for (int beside = left; beside < right; ++beside) {
        const auto values = load_channels<S, V>(image + above * strides.row + beside * strides.column);
        const auto number = static_cast<uint8_t>(rows.tap(y, above) * rows.kernel + columns.tap(x, beside));
        const bool start = above == top && beside == left;
#pragma unroll
        for (int k = 0; k < V; ++k) {
          const T value = static_cast<T>(values.value[k]);
          if (start || value > most[k] || value != value) {
            most[k] = value;
            tap[k] = number;
          }
        }
      }
    }
    const int64_t place = ((line * columns.out + x) * vectors) * V + c;
    store_channels<S, V>(result + place, most);
    if constexpr (kWithPositions) {
      Channels<uint8_t, V> bytes;
#pragma unroll
      for (int k = 0; k < V; ++k) bytes.value[k] = tap[k];
      *reinterpret_cast<Channels<uint8_t, V>*>(positions + place) = bytes;
    }
  }
}

template <class S, int V>
__global__ void __launch_bounds__(kBlockThreads)
    max_pool_backward_kernel(const S* grad_out, const uint8_t* positions, PoolWindows rows, PoolWindows columns, const S* added,
                             Strides added_strides, S* result, int vectors, Tile tile) {
  using T = Compute<S>;
  const int64_t line = static_cast<int64_t>(blockIdx.x) / tile.per_row, n = line / rows.size, y = line % rows.size;
  const int first = static_cast<int>(static_cast<int64_t>(blockIdx.x) % tile.per_row) * tile.columns;
  const int count = min(tile.columns, static_cast<int>(columns.size) - first) * vectors;
  const int above = static_cast<int>(rows.first(y)), below = static_cast<int>(rows.last(y));
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kBlockThreads) {
    const int x = first + i / vectors, c = i % vectors * V;
    const int left = static_cast<int>(columns.first(x)), right = static_cast<int>(columns.last(x));
    T sum[V] = {};
    if (added != nullptr) {
      const auto values =
          load_channels<S, V>(added + n * added_strides.image + y * added_strides.row + x * added_strides.column + c);
#pragma unroll
      for (int k = 0; k < V; ++k) sum[k] = static_cast<T>(values.value[k]);
    }
    for (int row = above; row <= below; ++row) {
      for (int column = left; column <= right; ++column) {
        const int64_t place = ((n * rows.out + row) * columns.out + column) * vectors * V + c;
        const auto values = load_channels<S, V>(grad_out + place);
        const auto taken = load_channels<uint8_t, V>(positions + place);
        const auto tap = static_cast<uint8_t>(rows.tap(row, y) * rows.kernel + columns.tap(column, x));
#pragma unroll
        for (int k = 0; k < V; ++k) sum[k] += taken.value[k] == tap ? static_cast<T>(values.value[k]) : T(0);
      }
    }
    store_channels<S, V>(result + (line * columns.size + x) * vectors * V + c, sum);
  }
}

Tile tile_of(int64_t width, int64_t vectors) {
  const int columns = static_cast<int>(std::clamp<int64_t>(kBlockVectors / vectors, 1, width));
  return {columns, static_cast<int>(divide_up(width, columns))};
}

unsigned blocks_of(int64_t rows, const Tile& tile) {
  TORCH_CHECK(rows * tile.per_row <= INT32_MAX, rows, " rows are too many for one launch");
  return static_cast<unsigned>(rows * tile.per_row);
}

std::tuple<at::Tensor, at::Tensor> max_pool_cuda(const at::Tensor& x, at::IntArrayRef window, at::IntArrayRef size,
                                                 bool with_positions) {
  const DeviceGuard guard(x.device());
  const std::vector<int64_t> shape = {x.size(0), x.size(1), size[0], size[1]};
  const at::Tensor result = at::empty(shape, x.options(), at::MemoryFormat::ChannelsLast);
  const auto bytes = x.options().dtype(at::kByte);
  const at::Tensor positions = with_positions ? at::empty(shape, bytes, at::MemoryFormat::ChannelsLast) : at::empty({0}, bytes);
  if (result.numel() == 0) return {result, positions};
  const PoolWindows rows{window[0], window[1], window[2], x.size(2), size[0]};
  const PoolWindows columns{window[0], window[1], window[2], x.size(3), size[1]};
  const bool whole = fits_vectors(x);
  const int vectors = static_cast<int>(x.size(1)) / (whole ? kVector : 1);
  const Tile tile = tile_of(size[1], vectors);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "max_pool", [&] {
    const auto start = [&](auto kernel) {
      launch(kernel, blocks_of(x.size(0) * size[0], tile), kBlockThreads, 0, x.const_data_ptr<scalar_t>(), strides_of(x), rows,
             columns, result.mutable_data_ptr<scalar_t>(), with_positions ? positions.mutable_data_ptr<uint8_t>() : nullptr,
             vectors, tile);
    };
    if (with_positions) {
      start(whole ? max_pool_kernel<scalar_t, kVector, true> : max_pool_kernel<scalar_t, 1, true>);
    } else {
      start(whole ? max_pool_kernel<scalar_t, kVector, false> : max_pool_kernel<scalar_t, 1, false>);
    }
  });
  return {result, positions};
}

at::Tensor max_pool_backward_cuda(const at::Tensor& grad_out, const at::Tensor& positions, at::IntArrayRef window,
                                  at::IntArrayRef size, const std::optional<at::Tensor>& given) {
  const DeviceGuard guard(grad_out.device());
  const at::Tensor added = !given                  ? at::Tensor()
                           : given->stride(1) == 1 ? *given
                                                   : given->contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor result =
      at::empty({grad_out.size(0), grad_out.size(1), size[0], size[1]}, grad_out.options(), at::MemoryFormat::ChannelsLast);
  if (result.numel() == 0) return result;
  const PoolWindows rows{window[0], window[1], window[2], size[0], grad_out.size(2)};
  const PoolWindows columns{window[0], window[1], window[2], size[1], grad_out.size(3)};
  const bool whole = fits_vectors(grad_out) && (!given || fits_vectors(added));
  const int vectors = static_cast<int>(grad_out.size(1)) / (whole ? kVector : 1);
  const Tile tile = tile_of(size[1], vectors);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, grad_out.scalar_type(), "max_pool_backward", [&] {
    launch(whole ? max_pool_backward_kernel<scalar_t, kVector> : max_pool_backward_kernel<scalar_t, 1>,
           blocks_of(grad_out.size(0) * size[0], tile), kBlockThreads, 0, grad_out.const_data_ptr<scalar_t>(),
           positions.const_data_ptr<uint8_t>(), rows, columns, given ? added.const_data_ptr<scalar_t>() : nullptr,
           given ? strides_of(added) : Strides{}, result.mutable_data_ptr<scalar_t>(), vectors, tile);
  });
  return result;
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("max_pool", max_pool_cuda);
  m.impl("max_pool_backward", max_pool_backward_cuda);
}

}  // namespace tessera
