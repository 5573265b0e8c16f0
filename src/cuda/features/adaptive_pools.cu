#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <vector>

#include "cuda/common/channel_vector.h"
#include "kernels/features/pool_plan.h"

// Averages over grids, see Note [Cells of a pool]. The features are read once forward and their gradient is written once
// backward; the cells between (float, at most a few per cent of the features) and the grids are small beside them.

namespace tessera {
namespace {

struct Grids {
  void* data[kMostGrids];  // (N, b, b, C) each
};

// cells[n][y][x][c] = sum of the pixels of a cell. A thread has one vector of one cell.
template <class S, int V>
__global__ void __launch_bounds__(kBlockThreads)
    sum_cells_kernel(const S* features, Strides strides, const __grid_constant__ PoolPlan plan, Compute<S>* cells, int vectors,
                     int64_t total) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kBlockThreads + threadIdx.x;
  if (i >= total) return;
  const int c = static_cast<int>(i % vectors) * V;
  const int64_t cell = i / vectors;
  const int cell_x = static_cast<int>(cell % plan.columns.cells),
            cell_y = static_cast<int>(cell / plan.columns.cells % plan.rows.cells);
  const int64_t n = cell / plan.columns.cells / plan.rows.cells;
  const int left = plan.columns.border[cell_x], right = plan.columns.border[cell_x + 1];
  const S* const image = features + n * strides.image + c * strides.channel;
  Compute<S> sum[V] = {};
  for (int y = plan.rows.border[cell_y]; y < plan.rows.border[cell_y + 1]; ++y) {
    const S* const row = image + y * strides.row;
#pragma unroll 8
    for (int x = left; x < right; ++x) {
      const auto values = load_channels<S, V>(row + x * strides.column);
#pragma unroll
      for (int k = 0; k < V; ++k) sum[k] += static_cast<Compute<S>>(values.value[k]);
    }
  }
  store_channels<Compute<S>, V>(cells + i * V, sum);
}

// Bins of all grids out of the cells. A thread has one vector of one bin.
template <class S, int V>
__global__ void __launch_bounds__(kBlockThreads)
    gather_bins_kernel(const Compute<S>* cells, const __grid_constant__ PoolPlan plan, const __grid_constant__ Grids grids,
                       int vectors, int bins_per_image, int64_t total) {
  using T = Compute<S>;
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kBlockThreads + threadIdx.x;
  if (i >= total) return;
  const int v = static_cast<int>(i % vectors);
  const int64_t n = i / vectors / bins_per_image;
  int g = 0, bin = static_cast<int>(i / vectors % bins_per_image);
  while (bin >= plan.bins[g] * plan.bins[g]) {
    bin -= plan.bins[g] * plan.bins[g];
    ++g;
  }
  const int row = plan.first[g] + bin / plan.bins[g], column = plan.first[g] + bin % plan.bins[g];
  const T* const image = cells + n * plan.rows.cells * plan.columns.cells * vectors * V + v * V;
  T sum[V] = {};
  for (int y = plan.rows.begin[row]; y < plan.rows.end[row]; ++y) {
#pragma unroll 4
    for (int x = plan.columns.begin[column]; x < plan.columns.end[column]; ++x) {
      const auto values = load_channels<T, V>(image + (static_cast<int64_t>(y) * plan.columns.cells + x) * vectors * V);
#pragma unroll
      for (int k = 0; k < V; ++k) sum[k] += values.value[k];
    }
  }
  const T scale = T(1) / static_cast<T>(plan.rows.pixels(row) * plan.columns.pixels(column));
  for (int k = 0; k < V; ++k) sum[k] *= scale;
  const int64_t place = (n * plan.bins[g] * plan.bins[g] + bin) * vectors + v;
  store_channels<S, V>(static_cast<S*>(grids.data[g]) + place * V, sum);
}

// The gradient of each cell's pixels: what the bins that hold it send. A thread has one vector of one cell.
template <class S, int V>
__global__ void __launch_bounds__(kBlockThreads)
    cell_gradients_kernel(const __grid_constant__ Grids grids, const __grid_constant__ PoolPlan plan, Compute<S>* cells,
                          int vectors, int64_t total) {
  using T = Compute<S>;
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kBlockThreads + threadIdx.x;
  if (i >= total) return;
  const int v = static_cast<int>(i % vectors);
  const int64_t cell = i / vectors;
  const int x = static_cast<int>(cell % plan.columns.cells), y = static_cast<int>(cell / plan.columns.cells % plan.rows.cells);
  const int64_t n = cell / plan.columns.cells / plan.rows.cells;
  T sum[V] = {};
  for (int g = 0; g < plan.grids; ++g) {
    const int bins = plan.bins[g], first = plan.first[g];
    for (int row = 0; row < bins; ++row) {
      if (!plan.rows.holds(first + row, y)) continue;
      for (int column = 0; column < bins; ++column) {
        if (!plan.columns.holds(first + column, x)) continue;
        const T scale = T(1) / static_cast<T>(plan.rows.pixels(first + row) * plan.columns.pixels(first + column));
        const int64_t place = ((n * bins + row) * bins + column) * vectors + v;
        const auto values = load_channels<S, V>(static_cast<const S*>(grids.data[g]) + place * V);
#pragma unroll
        for (int k = 0; k < V; ++k) sum[k] += scale * static_cast<T>(values.value[k]);
      }
    }
  }
  store_channels<T, V>(cells + i * V, sum);
}

// Every pixel's gradient is its cell's. A block has up to kBlockVectors vectors of one row of the result, (N, H, W, C).
template <class S, int V>
__global__ void __launch_bounds__(kBlockThreads)
    spread_cells_kernel(const Compute<S>* cells, const __grid_constant__ PoolPlan plan, S* result, int height, int width,
                        int vectors, int tile_columns, int tiles) {
  using T = Compute<S>;
  __shared__ int cell_of[kBlockVectors];
  const int64_t row = static_cast<int64_t>(blockIdx.x) / tiles, n = row / height;
  const int y = static_cast<int>(row % height),
            first = static_cast<int>(static_cast<int64_t>(blockIdx.x) % tiles) * tile_columns,
            columns = min(tile_columns, width - first);
  for (int x = static_cast<int>(threadIdx.x); x < columns; x += kBlockThreads) {
    int cell = 0;
    while (plan.columns.border[cell + 1] <= first + x) ++cell;
    cell_of[x] = cell;
  }
  int cell_y = 0;
  while (plan.rows.border[cell_y + 1] <= y) ++cell_y;
  __syncthreads();
  const T* const line = cells + (n * plan.rows.cells + cell_y) * plan.columns.cells * vectors * V;
  S* const to = result + (row * width + first) * vectors * V;
  for (int i = static_cast<int>(threadIdx.x); i < columns * vectors; i += kBlockThreads) {
    const auto values = load_channels<T, V>(line + (static_cast<int64_t>(cell_of[i / vectors]) * vectors + i % vectors) * V);
    store_channels<S, V>(to + static_cast<int64_t>(i) * V, values.value);
  }
}

unsigned blocks_of(int64_t threads) {
  const int64_t blocks = divide_up(threads, kBlockThreads);
  TORCH_CHECK(blocks <= INT32_MAX, threads, " vectors are too many for one launch");
  return static_cast<unsigned>(blocks);
}

at::Tensor empty_cells(const at::Tensor& like, const PoolPlan& plan) {
  const auto type = like.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  return at::empty({like.size(0), plan.rows.cells, plan.columns.cells, like.size(1)}, like.options().dtype(type));
}

std::vector<at::Tensor> adaptive_pools_cuda(const at::Tensor& x, at::IntArrayRef bins) {
  const DeviceGuard guard(x.device());
  const PoolPlan plan = pool_plan(x.size(2), x.size(3), bins);
  std::vector<at::Tensor> results;
  Grids grids{};
  int per_image = 0;
  for (const int64_t b : bins) {
    results.push_back(at::empty({x.size(0), x.size(1), b, b}, x.options(), at::MemoryFormat::ChannelsLast));
    grids.data[results.size() - 1] = results.back().mutable_data_ptr();
    per_image += static_cast<int>(b * b);
  }
  if (x.numel() == 0) return results;
  const bool whole = fits_vectors(x);
  const int vectors = static_cast<int>(x.size(1)) / (whole ? kVector : 1);
  const at::Tensor cells = empty_cells(x, plan);
  const int64_t sums = x.size(0) * plan.rows.cells * plan.columns.cells * vectors, averages = x.size(0) * per_image * vectors;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "adaptive_pools", [&] {
    auto* const sum = cells.mutable_data_ptr<Compute<scalar_t>>();
    launch(whole ? sum_cells_kernel<scalar_t, kVector> : sum_cells_kernel<scalar_t, 1>, blocks_of(sums), kBlockThreads, 0,
           x.const_data_ptr<scalar_t>(), strides_of(x), plan, sum, vectors, sums);
    launch(whole ? gather_bins_kernel<scalar_t, kVector> : gather_bins_kernel<scalar_t, 1>, blocks_of(averages), kBlockThreads,
           0, sum, plan, grids, vectors, per_image, averages);
  });
  return results;
}

at::Tensor adaptive_pools_backward_cuda(at::TensorList grad_outputs, at::IntArrayRef size) {
  const at::Tensor& first = grad_outputs[0];
  const DeviceGuard guard(first.device());
  std::vector<int64_t> bins;
  std::vector<at::Tensor> kept;
  Grids grids{};
  for (const at::Tensor& grad_out : grad_outputs) {
    bins.push_back(grad_out.size(2));
    kept.push_back(grad_out.contiguous(at::MemoryFormat::ChannelsLast));
    grids.data[kept.size() - 1] = const_cast<void*>(kept.back().const_data_ptr());
  }
  const PoolPlan plan = pool_plan(size[0], size[1], bins);
  const at::Tensor result =
      at::empty({first.size(0), first.size(1), size[0], size[1]}, first.options(), at::MemoryFormat::ChannelsLast);
  if (result.numel() == 0) return result;
  bool whole = fits_vectors(result);
  for (const at::Tensor& grad_out : kept) whole = whole && reinterpret_cast<uintptr_t>(grad_out.const_data_ptr()) % 16 == 0;
  const int vectors = static_cast<int>(first.size(1)) / (whole ? kVector : 1);
  const int tile_columns = static_cast<int>(std::clamp<int64_t>(kBlockVectors / vectors, 1, size[1]));
  const int tiles = static_cast<int>(divide_up(size[1], tile_columns));
  const at::Tensor cells = empty_cells(first, plan);
  const int64_t sums = first.size(0) * plan.rows.cells * plan.columns.cells * vectors;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, first.scalar_type(), "adaptive_pools_backward", [&] {
    auto* const sum = cells.mutable_data_ptr<Compute<scalar_t>>();
    launch(whole ? cell_gradients_kernel<scalar_t, kVector> : cell_gradients_kernel<scalar_t, 1>, blocks_of(sums),
           kBlockThreads, 0, grids, plan, sum, vectors, sums);
    launch(whole ? spread_cells_kernel<scalar_t, kVector> : spread_cells_kernel<scalar_t, 1>,
           blocks_of(first.size(0) * size[0] * tiles * kBlockThreads), kBlockThreads, 0, sum, plan,
           result.mutable_data_ptr<scalar_t>(), static_cast<int>(size[0]), static_cast<int>(size[1]), vectors, tile_columns,
           tiles);
  });
  return result;
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("adaptive_pools", adaptive_pools_cuda);
  m.impl("adaptive_pools_backward", adaptive_pools_backward_cuda);
}

}  // namespace tessera
