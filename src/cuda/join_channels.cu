#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <tuple>

#include "cuda/channel_vector.h"
#include "cuda/column_sums.h"
#include "cuda/pixel_rows.h"

namespace tessera {
namespace {

constexpr int kJoinThreads = 256;
constexpr int kJoinRounds = 4;  // vectors that each thread moves

template <class S>
struct JoinArguments {
  const S *a, *b;
  const Sum<S>* bias;
  S* out;
  int64_t a_pitch, b_pitch, rows;
  int a_vectors, vectors;  // of a row
};

// Traffic: everything read once and written once.
template <class S, int V>
__global__ void __launch_bounds__(kJoinThreads) join_kernel(JoinArguments<S> j, int block_rows) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * block_rows;
  const int64_t left = j.rows - first;
  const int count = static_cast<int>(left < block_rows ? left : block_rows) * j.vectors;
  S* const out = j.out + first * j.vectors * V;
#pragma unroll kJoinRounds
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kJoinThreads) {
    const int row = i / j.vectors, vector = i - row * j.vectors;
    const bool from_a = vector < j.a_vectors;
    const S* const from =
        from_a ? j.a + (first + row) * j.a_pitch + vector * V : j.b + (first + row) * j.b_pitch + (vector - j.a_vectors) * V;
    Channels<S, V> values = load_channels<S, V>(from);
    if (from_a) {
#pragma unroll
      for (int k = 0; k < V; ++k)
        values.value[k] = static_cast<S>(static_cast<Sum<S>>(values.value[k]) + j.bias[vector * V + k]);
    }
    *reinterpret_cast<Channels<S, V>*>(out + static_cast<int64_t>(i) * V) = values;
  }
}

// A block has `columns` vectors of channels side by side and takes its rows in turn; its sums go to parts (blocks, C).
template <class S, int V>
__global__ void __launch_bounds__(kJoinThreads) split_kernel(const S* x, int64_t pitch, int64_t rows, int64_t block_rows,
                                                             int columns, int channels, S* copy, Sum<S>* parts) {
  using T = Sum<S>;
  const int lane = static_cast<int>(threadIdx.x) % columns, row_lane = static_cast<int>(threadIdx.x) / columns;
  const int row_lanes = kJoinThreads / columns, channel = (static_cast<int>(blockIdx.x) * columns + lane) * V;
  const int64_t begin = blockIdx.y * block_rows, end = begin + block_rows < rows ? begin + block_rows : rows;
  T sum[V] = {};
  if (channel < channels) {
    for (int64_t row = begin + row_lane; row < end; row += kJoinRounds * row_lanes) {
      Channels<S, V> values[kJoinRounds];
#pragma unroll
      for (int u = 0; u < kJoinRounds; ++u) {
        const int64_t from = row + u * row_lanes;
        values[u] = load_channels<S, V>(x + (from < end ? from : row) * pitch + channel);
      }
#pragma unroll
      for (int u = 0; u < kJoinRounds; ++u) {
        const int64_t to = row + u * row_lanes;
        if (to >= end) break;
        if (copy != nullptr) *reinterpret_cast<Channels<S, V>*>(copy + to * channels + channel) = values[u];
#pragma unroll
        for (int k = 0; k < V; ++k) sum[k] += static_cast<T>(values[u].value[k]);
      }
    }
  }
  T* const shared = shared_memory<T>() + threadIdx.x;
  for (int k = 0; k < V; ++k) shared[k * kJoinThreads] = sum[k];
  __syncthreads();
  for (int half = row_lanes / 2; half > 0; half /= 2) {
    if (row_lane < half) {
      for (int k = 0; k < V; ++k) shared[k * kJoinThreads] += shared[k * kJoinThreads + half * columns];
    }
    __syncthreads();
  }
  if (row_lane > 0 || channel >= channels) return;
  for (int k = 0; k < V; ++k) parts[static_cast<int64_t>(blockIdx.y) * channels + channel + k] = shared[k * kJoinThreads];
}

at::Tensor join_channels_cuda(const at::Tensor& given_a, const at::Tensor& given_bias, const at::Tensor& given_b) {
  const DeviceGuard guard(given_a.device());
  const at::Tensor a = in_pitched_rows(given_a), b = in_pitched_rows(given_b);
  const at::Tensor bias = given_bias.contiguous();
  const at::Tensor out =
      at::empty({a.size(0), a.size(1) + b.size(1), a.size(2), a.size(3)}, a.options(), at::MemoryFormat::ChannelsLast);
  if (out.numel() == 0) return out;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, a.scalar_type(), "join_channels", [&] {
    const bool wide = takes_vectors(a) && takes_vectors(b);
    const int size = wide ? kVector : 1;
    const JoinArguments<scalar_t> j{a.const_data_ptr<scalar_t>(),
                                    b.const_data_ptr<scalar_t>(),
                                    bias.const_data_ptr<Sum<scalar_t>>(),
                                    out.mutable_data_ptr<scalar_t>(),
                                    pitch_of(a),
                                    pitch_of(b),
                                    a.size(0) * a.size(2) * a.size(3),
                                    static_cast<int>(a.size(1)) / size,
                                    static_cast<int>(out.size(1)) / size};
    const int block_rows = std::max(1, kJoinThreads * kJoinRounds / j.vectors);
    launch(wide ? join_kernel<scalar_t, kVector> : join_kernel<scalar_t, 1>, blocks_for(j.rows, block_rows), kJoinThreads, 0, j,
           block_rows);
  });
  return out;
}

std::tuple<at::Tensor, at::Tensor> split_channels_cuda(const at::Tensor& given, bool copy) {
  const DeviceGuard guard(given.device());
  const at::Tensor x = in_pitched_rows(given);
  const int64_t channels = x.size(1), rows = x.size(0) * x.size(2) * x.size(3);
  const auto type = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor sums = at::empty({channels}, x.options().dtype(type));
  const at::Tensor dense = copy ? at::empty(x.sizes(), x.options(), at::MemoryFormat::ChannelsLast) : given;
  if (x.numel() == 0) return {dense, at::zeros({channels}, sums.options())};
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "split_channels", [&] {
    using T = Sum<scalar_t>;
    const bool wide = takes_vectors(x);
    const int size = wide ? kVector : 1;
    int columns = 1;
    while (columns < 32 && columns * size < channels) columns *= 2;
    constexpr int64_t kBlocks = 1056;  // eight for each of an H200's processors
    const int64_t stretches = divide_up(channels, columns * size), most = std::max<int64_t>(1, kBlocks / stretches);
    const int64_t block_rows = std::max<int64_t>(divide_up(rows, most), kJoinThreads / columns * kJoinRounds);
    const int64_t blocks = divide_up(rows, block_rows);
    const at::Tensor parts = at::empty({blocks, channels}, sums.options());
    launch(wide ? split_kernel<scalar_t, kVector> : split_kernel<scalar_t, 1>,
           dim3(static_cast<unsigned>(stretches), static_cast<unsigned>(blocks)), kJoinThreads, kJoinThreads * size * sizeof(T),
           x.const_data_ptr<scalar_t>(), pitch_of(x), rows, block_rows, columns, static_cast<int>(channels),
           copy ? dense.mutable_data_ptr<scalar_t>() : nullptr, parts.mutable_data_ptr<T>());
    column_sums(parts.const_data_ptr<T>(), sums.mutable_data_ptr<T>(), blocks, channels);
  });
  return {dense, sums};
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("join_channels", join_channels_cuda);
  m.impl("split_channels", split_channels_cuda);
}

}  // namespace tessera
