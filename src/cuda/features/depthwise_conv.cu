#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>

#include <tuple>

#include "cuda/common/column_sums.h"
#include "cuda/features/depthwise_tile.h"

// Depthwise 3x3 convolution, see kernels/features/depthwise_conv.h. Traffic, with s the bytes of x: forward 2 s, backward 3 s.
// A block brings its window into shared memory with all copies on their way at once; a thread slides over a chain of pixels and
// uses each value that it reads for the three pixels beside one another. Both gradients come from one pass: the window is
// grad_out's, and what stands around a pixel makes its gradient and, times the pixel, a part of the weight's.

namespace tessera {
namespace {

constexpr int kTaps = 9;

template <class S>
struct DepthwiseArgs {
  const S* source;           // x, or backward grad_out
  const Compute<S>* weight;  // (channels, 9)
  S* result;                 // the convolution, or backward x's gradient
  const S* x;                // backward only
  Compute<S>* parts;         // backward only: (tiles, channels, 9), parts of the weight's gradient
};

template <int V, class T>
__device__ __forceinline__ void load_taps(const T* weight, bool mirrored, T (&taps)[kTaps][V]) {
  constexpr bool kAligned = V * kTaps * sizeof(T) % 16 == 0;
  Channels<T, V * kTaps> flat;
  if constexpr (kAligned) {
    flat = load_channels<T, V * kTaps>(weight);
  } else {
#pragma unroll
    for (int i = 0; i < V * kTaps; ++i) flat.value[i] = weight[i];
  }
#pragma unroll
  for (int k = 0; k < V; ++k) {
#pragma unroll
    for (int t = 0; t < kTaps; ++t) taps[t][k] = flat.value[k * kTaps + (mirrored ? kTaps - 1 - t : t)];
  }
}

template <class S, int V>
__device__ __forceinline__ void read_channels(const S* from, Compute<S> (&to)[V]) {
  const Channels<S, V> values = load_channels<S, V>(from);
#pragma unroll
  for (int k = 0; k < V; ++k) to[k] = static_cast<Compute<S>>(values.value[k]);
}

// store_channels in one instruction: in a loop this long the compiler would store number by number. The kernel reads nothing of
// what it stores, so nothing has to wait.
template <class S, int V>
__device__ __forceinline__ void write_channels(S* to, const Compute<S> (&value)[V]) {
#ifndef TESSERA_CUDA_ON_CPU
  Channels<S, V> stored;
#pragma unroll
  for (int k = 0; k < V; ++k) stored.value[k] = static_cast<S>(value[k]);
  if constexpr (sizeof(stored) == 16) {
    unsigned words[4];
    memcpy(words, &stored, 16);
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(words[0]), "r"(words[1]), "r"(words[2]),
                 "r"(words[3]));
    return;
  } else if constexpr (sizeof(stored) == 8) {
    unsigned words[2];
    memcpy(words, &stored, 8);
    asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(to), "r"(words[0]), "r"(words[1]));
    return;
  }
#endif
  store_channels<S, V>(to, value);
}

// Adds up the sums of all threads that have the same channels, in a fixed order, and leaves them for the block's tile.
template <int V, class T>
__device__ void leave_sums(T (&sums)[kTaps][V], const DepthwisePlan& plan, const DepthwiseBlock& block, T* parts) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int numbers = plan.lanes * V * kTaps;
#pragma unroll
  for (int t = 0; t < kTaps; ++t) {
#pragma unroll
    for (int k = 0; k < V; ++k) {
      for (int distance = plan.lanes; distance < 32; distance *= 2)
        sums[t][k] += __shfl_xor_sync(kAllLanes, sums[t][k], distance);
    }
  }
  T* const shared = shared_memory<T>();
  __syncthreads();  // the window has been read
  if (lane < plan.lanes) {
#pragma unroll
    for (int t = 0; t < kTaps; ++t) {
#pragma unroll
      for (int k = 0; k < V; ++k) shared[warp * numbers + (lane * V + k) * kTaps + kTaps - 1 - t] = sums[t][k];
    }
  }
  __syncthreads();
  const int64_t first = static_cast<int64_t>(block.chunk) * numbers, all = static_cast<int64_t>(plan.channels) * kTaps;
  for (int i = static_cast<int>(threadIdx.x); i < numbers && first + i < all; i += kTileThreads) {
    T sum = 0;
    for (int w = 0; w < kTileThreads / 32; ++w) sum += shared[w * numbers + i];
    parts[block.tile * all + first + i] = sum;
  }
}

// Whole: the window and, backward, the tile of x lie in shared memory; else they are read from the caches.
template <class S, int V, bool kWhole, bool kBackward>
__global__ void __launch_bounds__(kTileThreads, kBackward ? 3 : 4)
    depthwise_kernel(const DepthwiseArgs<S> a, const __grid_constant__ DepthwisePlan plan) {
  using T = Compute<S>;
  using Offset = std::conditional_t<kWhole, int, int64_t>;
  __shared__ int row_of[kWindowRows], column_of[kWindowColumns];
  const DepthwiseBlock block(plan, blockIdx.x);
  const PhaseSpan &rows = block.rows, &columns = block.columns;
  const int height = plan.rows.size, width = plan.columns.size;
  const int lane = static_cast<int>(threadIdx.x) % plan.lanes, slot = static_cast<int>(threadIdx.x) / plan.lanes;
  const int channel = (block.chunk * plan.lanes + lane) * V;
  const int64_t image = block.image * height * width * plan.channels;
  block.fill(plan, row_of, column_of);
  unsigned char* const window = shared_memory<unsigned char>();
  unsigned char* const centres = window + plan.window_bytes();
  if constexpr (kWhole) {
    block.begin_rows(plan, a.source + image, row_of, column_of, rows.slots, window);
    if constexpr (kBackward) block.begin_rows(plan, a.x + image, row_of + rows.lead, column_of, rows.own, centres);
  }
  T taps[kTaps][V], sums[kTaps][V] = {};
  const bool inside = channel < plan.channels;
  if (inside) load_taps<V>(a.weight + static_cast<int64_t>(channel) * kTaps, kBackward, taps);
  if constexpr (kWhole) {
    wait_for_copies();
    __syncthreads();
  }

  // Distances from a tap to the one below it, and to the one beside it.
  const Offset below = kWhole ? plan.rows.tile_phases * plan.pitch * plan.lanes * V
                              : static_cast<Offset>(plan.rows.dilation) * width * plan.channels;
  const Offset beside =
      kWhole ? plan.columns.tile_phases * plan.lanes * V : static_cast<Offset>(plan.columns.dilation) * plan.channels;
  const int64_t step = static_cast<int64_t>(plan.columns.dilation) * plan.channels;
  const int row_lanes = kTileThreads / plan.lanes / plan.chain_lanes;
  for (int chain = inside ? slot / row_lanes : plan.chains; chain < plan.chains; chain += plan.chain_lanes) {
    const int run = chain / plan.columns.tile_phases * kChain;  // steps of the tile before this chain
    const int column = columns.lead + run * plan.columns.tile_phases + chain % plan.columns.tile_phases;
    const int x = column < columns.slots ? column_of[column] : -1;
    if (x < 0 || run >= columns.steps) continue;
    const int count = min(min(kChain, columns.steps - run), (width - x + plan.columns.dilation - 1) / plan.columns.dilation);
    for (int row = slot % row_lanes; row < rows.own; row += row_lanes) {
      const int y = row_of[rows.lead + row];
      if (y < 0) continue;
      const int64_t place = image + (static_cast<int64_t>(y) * width + x) * plan.channels + channel;
      const int here = (row * plan.pitch + column) * plan.lanes * V + lane * V;
      const S* const source =
          kWhole ? reinterpret_cast<const S*>(window) + here + rows.lead * plan.pitch * plan.lanes * V : a.source + place;
      const S* const centre = kWhole ? reinterpret_cast<const S*>(centres) + here : a.x + place;
      const bool has_row[3] = {y >= plan.rows.dilation, true, y + plan.rows.dilation < height};
      T out[kChain][V] = {}, middle[kChain][V] = {};
#pragma unroll
      for (int j = -1; j <= kChain; ++j) {  // the column that pixel j of the chain stands in
        if (j > count) break;
        if constexpr (kBackward) {
          if (j + 1 < kChain && j + 1 < count) read_channels(centre + (j + 1) * beside, middle[j + 1]);
        }
        if ((j >= 0 || x >= plan.columns.dilation) && x + j * plan.columns.dilation < width) {
          T around[3][V] = {};
#pragma unroll
          for (int r = 0; r < 3; ++r) {
            if (has_row[r]) read_channels(source + (r - 1) * below + j * beside, around[r]);
          }
#pragma unroll
          for (int r = 0; r < 3; ++r) {
#pragma unroll
            for (int s = 0; s < 3; ++s) {
              const int i = j + 1 - s;  // the pixel that has this column as its tap s
              if (i < 0 || i >= kChain) continue;
#pragma unroll
              for (int k = 0; k < V; ++k) {
                out[i][k] += around[r][k] * taps[3 * r + s][k];
                if constexpr (kBackward) sums[3 * r + s][k] += around[r][k] * middle[i][k];
              }
            }
          }
        }
        if (j >= 1) write_channels<S, V>(a.result + place + (j - 1) * step, out[j - 1]);
      }
    }
  }
  if constexpr (kBackward) leave_sums<V>(sums, plan, block, a.parts);
}

// 16 bytes a thread forward; backward 8, for its sums need as many registers as its weights.
template <class S, bool kBackward>
constexpr int kWide = (kBackward ? 8 : 16) / static_cast<int>(sizeof(S));

template <class S, bool kBackward>
DepthwisePlan plan_for(const at::Tensor& x, int64_t dilation, bool whole) {
  return depthwise_plan(x.size(2), x.size(3), x.size(1), dilation, whole ? kWide<S, kBackward> : 1, sizeof(S), whole);
}

template <class S, bool kBackward>
void start_depthwise(const DepthwiseArgs<S>& a, const DepthwisePlan& plan, int64_t tiles, bool whole) {
  TORCH_CHECK(tiles * plan.chunks <= INT32_MAX, tiles * plan.chunks, " blocks are too many for one launch");
  constexpr int V = kWide<S, kBackward>;
  int bytes = whole ? plan.window_bytes() : 0;
  if (kBackward) {
    const int sums = kTileThreads / 32 * plan.lanes * (whole ? V : 1) * kTaps * static_cast<int>(sizeof(Compute<S>));
    bytes = std::max(whole ? bytes + plan.tile_bytes() : 0, sums);
  }
  launch(whole ? depthwise_kernel<S, V, true, kBackward> : depthwise_kernel<S, 1, false, kBackward>,
         static_cast<unsigned>(tiles * plan.chunks), kTileThreads, static_cast<size_t>(bytes), a, plan);
}

// Other layouts are turned around and back; activations on GPUs are channels_last.
at::Tensor in_pixels(const at::Tensor& x) {
  return x.contiguous(at::MemoryFormat::ChannelsLast);
}
at::Tensor laid_out_as(const at::Tensor& x, const at::Tensor& result) {
  return x.is_contiguous() ? result.contiguous() : result;
}

// Whether pixels can be moved 16 bytes at a time.
bool is_whole(const at::Tensor& x) {
  return x.size(1) * x.element_size() % 16 == 0 && reinterpret_cast<uintptr_t>(x.const_data_ptr()) % 16 == 0;
}

// (channels, 1, 3, 3) at an address that vectors can be loaded from.
at::Tensor in_taps(const at::Tensor& weight) {
  const at::Tensor taps = weight.contiguous();
  return reinterpret_cast<uintptr_t>(taps.const_data_ptr()) % 16 == 0 ? taps : taps.clone();
}

at::Tensor depthwise_conv_cuda(const at::Tensor& x, const at::Tensor& weight, int64_t dilation) {
  const DeviceGuard guard(x.device());
  const at::Tensor pixels = in_pixels(x), taps = in_taps(weight);
  const at::Tensor result = at::empty(x.sizes(), x.options(), at::MemoryFormat::ChannelsLast);
  if (result.numel() == 0) return result;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "depthwise_conv", [&] {
    const DepthwiseArgs<scalar_t> a{pixels.const_data_ptr<scalar_t>(), taps.const_data_ptr<Compute<scalar_t>>(),
                                    result.mutable_data_ptr<scalar_t>(), nullptr, nullptr};
    const bool whole = is_whole(pixels);
    const DepthwisePlan plan = plan_for<scalar_t, false>(x, dilation, whole);
    start_depthwise<scalar_t, false>(a, plan, plan.tiles(x.size(0)), whole);
  });
  return laid_out_as(x, result);
}

std::tuple<at::Tensor, at::Tensor> depthwise_conv_backward_cuda(const at::Tensor& grad_out, const at::Tensor& x,
                                                                const at::Tensor& weight, int64_t dilation) {
  const DeviceGuard guard(x.device());
  const at::Tensor pixels = in_pixels(x), grad_pixels = in_pixels(grad_out), taps = in_taps(weight);
  const at::Tensor grad_x = at::empty(x.sizes(), x.options(), at::MemoryFormat::ChannelsLast);
  if (grad_x.numel() == 0) return {grad_x, at::zeros_like(weight)};
  const at::Tensor grad_weight = at::empty(weight.sizes(), weight.options());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "depthwise_conv_backward", [&] {
    using T = Compute<scalar_t>;
    const bool whole = is_whole(pixels) && is_whole(grad_pixels);
    const DepthwisePlan plan = plan_for<scalar_t, true>(x, dilation, whole);
    const int64_t tiles = plan.tiles(x.size(0));
    const at::Tensor parts = at::empty({tiles, weight.numel()}, weight.options());
    const DepthwiseArgs<scalar_t> a{grad_pixels.const_data_ptr<scalar_t>(), taps.const_data_ptr<T>(),
                                    grad_x.mutable_data_ptr<scalar_t>(), pixels.const_data_ptr<scalar_t>(),
                                    parts.mutable_data_ptr<T>()};
    start_depthwise<scalar_t, true>(a, plan, tiles, whole);
    column_sums(parts.const_data_ptr<T>(), grad_weight.mutable_data_ptr<T>(), tiles, weight.numel());
  });
  return {laid_out_as(x, grad_x), grad_weight};
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("depthwise_conv", depthwise_conv_cuda);
  m.impl("depthwise_conv_backward", depthwise_conv_backward_cuda);
}

}  // namespace tessera
