#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>

#include <tuple>

#include "cuda/column_sums.h"
#include "cuda/depthwise_tile.h"

// Depthwise 3x3 convolution, see kernels/depthwise_conv.h. Traffic, with s the bytes of x: forward 2 s, backward 3 s. A block
// brings its window into shared memory with all copies on their way at once; a thread slides over a chain of pixels and uses
// each value that it reads for the three pixels beside one another. Both gradients come from one pass: the window is the
// slope's, and what stands around a pixel makes its gradient and, times the pixel, a share of the weight's.

namespace tessera {
namespace {

constexpr int kTaps = 9;

template <class S>
struct DepthwiseArgs {
  const S* source;       // x, or backward the slope
  const Sum<S>* weight;  // (channels, 9)
  S* result;             // the convolution, or backward x's gradient
  const S* x;            // backward only
  Sum<S>* parts;         // backward only: (tiles, channels, 9), shares of the weight's gradient
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

// Adds up the sums of all threads that have the same channels, in a fixed order, and leaves them for the block's tile.
template <int V, class T>
__device__ void leave_sums(T (&sums)[kTaps][V], const DepthwisePlan& plan, T* parts) {
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
  __syncthreads();  // nobody reads the window any more
  if (lane < plan.lanes) {
#pragma unroll
    for (int t = 0; t < kTaps; ++t) {
#pragma unroll
      for (int k = 0; k < V; ++k) shared[warp * numbers + (lane * V + k) * kTaps + kTaps - 1 - t] = sums[t][k];
    }
  }
  __syncthreads();
  const DepthwiseTile tile(plan, blockIdx.x);
  const int64_t first = static_cast<int64_t>(tile.chunk) * numbers, all = static_cast<int64_t>(plan.channels) * kTaps;
  for (int i = static_cast<int>(threadIdx.x); i < numbers && first + i < all; i += kTileThreads) {
    T sum = 0;
    for (int w = 0; w < kTileThreads / 32; ++w) sum += shared[w * numbers + i];
    parts[tile.number * all + first + i] = sum;
  }
}

template <class S, int V, bool kWindowed, bool kBackward>
__global__ void __launch_bounds__(kTileThreads, kBackward ? 3 : 4)
    depthwise_kernel(const DepthwiseArgs<S> a, const __grid_constant__ DepthwisePlan plan) {
  using T = Sum<S>;
  using Offset = std::conditional_t<kWindowed, int, int64_t>;
  const DepthwiseTile tile(plan, blockIdx.x);
  const int lane = static_cast<int>(threadIdx.x) % plan.lanes, slot = static_cast<int>(threadIdx.x) / plan.lanes;
  const int first_channel = tile.chunk * plan.lanes * V, channel = first_channel + lane * V;
  const int64_t image = tile.image * plan.height * plan.width * plan.channels;
  if constexpr (kWindowed) tile.begin_window(plan, a.source + image, first_channel, shared_memory<unsigned char>());

  // The source's pixel (y, x) is at corner + y * line + x * pixel.
  const S* const corner = kWindowed ? shared_memory<S>() + lane * V : a.source + image + channel;
  const int top = kWindowed ? tile.top : 0, left = kWindowed ? tile.left : 0;
  const Offset pixel = kWindowed ? plan.lanes * V : plan.channels;
  const Offset line = (kWindowed ? plan.pitch : plan.width) * pixel;

  T taps[kTaps][V], sums[kTaps][V] = {};
  const bool inside = channel < plan.channels;
  if (inside) load_taps<V>(a.weight + static_cast<int64_t>(channel) * kTaps, kBackward, taps);
  if constexpr (kWindowed) {
    wait_for_copies();
    __syncthreads();
  }
  const int slots = kTileThreads / plan.lanes, row_lanes = slots / plan.chain_lanes;
  for (int chain = inside ? slot / row_lanes : plan.chains; chain < plan.chains; chain += plan.chain_lanes) {
    const int start = chain % plan.phases + chain / plan.phases * kChain * plan.dilation;
    const int count = min(kChain, (tile.columns - start + plan.dilation - 1) / plan.dilation);
    if (start >= tile.columns) continue;
    for (int row = slot % row_lanes; row < tile.rows; row += row_lanes) {
      const int y = tile.y + row;
      const int64_t place = image + (static_cast<int64_t>(y) * plan.width + tile.x + start) * plan.channels + channel;
      const int64_t step = static_cast<int64_t>(plan.dilation) * plan.channels;
      Channels<S, V> centre[kBackward ? kChain : 1] = {};
      if constexpr (kBackward) {
#pragma unroll
        for (int i = 0; i < kChain; ++i) {
          if (i < count) centre[i] = load_channels<S, V>(a.x + place + i * step);
        }
      }
      T out[kChain][V] = {};
#pragma unroll
      for (int j = -1; j <= kChain; ++j) {  // the column that pixel j of the chain stands in
        if (j > count) break;
        const int column = tile.x + start + j * plan.dilation;
        if (column >= 0 && column < plan.width) {
          Channels<S, V> around[3];
#pragma unroll
          for (int r = 0; r < 3; ++r) {
            const int above = y + (r - 1) * plan.dilation;
            around[r] = above >= 0 && above < plan.height
                            ? load_channels<S, V>(corner + (above - top) * line + (column - left) * pixel)
                            : Channels<S, V>{};
          }
#pragma unroll
          for (int r = 0; r < 3; ++r) {
#pragma unroll
            for (int k = 0; k < V; ++k) {
              const T value = static_cast<T>(around[r].value[k]);
#pragma unroll
              for (int s = 0; s < 3; ++s) {
                const int i = j + 1 - s;  // the pixel that has this value as its tap (r, s)
                if (i < 0 || i >= kChain) continue;
                out[i][k] += value * taps[3 * r + s][k];
                if constexpr (kBackward) sums[3 * r + s][k] += value * static_cast<T>(centre[i].value[k]);
              }
            }
          }
        }
        if (j >= 1) store_channels<S, V>(a.result + place + (j - 1) * step, out[j - 1]);
      }
    }
  }
  if constexpr (kBackward) leave_sums<V>(sums, plan, a.parts);
}

// 16 bytes a thread forward; backward 8, for its sums need as many registers as its weights.
template <class S, bool kBackward>
constexpr int kWide = (kBackward ? 8 : 16) / static_cast<int>(sizeof(S));

template <class S, bool kBackward>
void start_depthwise(const DepthwiseArgs<S>& a, const DepthwisePlan& plan, int64_t images, bool whole) {
  const int64_t blocks = images * plan.down * plan.across * plan.chunks;
  TORCH_CHECK(blocks <= INT32_MAX, blocks, " blocks are too many for one launch");
  constexpr int V = kWide<S, kBackward>;
  const int sum_bytes = kTileThreads / 32 * plan.lanes * (whole ? V : 1) * kTaps * static_cast<int>(sizeof(Sum<S>));
  const auto kernel = plan.windowed ? depthwise_kernel<S, V, true, kBackward>
                      : whole       ? depthwise_kernel<S, V, false, kBackward>
                                    : depthwise_kernel<S, 1, false, kBackward>;
  launch(kernel, static_cast<unsigned>(blocks), kTileThreads,
         static_cast<size_t>(std::max(plan.window_bytes, kBackward ? sum_bytes : 0)), a, plan);
}

// Other layouts are turned around and back; activations on GPUs are channels_last.
at::Tensor in_pixels(const at::Tensor& x) {
  return x.contiguous(at::MemoryFormat::ChannelsLast);
}
at::Tensor laid_out_as(const at::Tensor& x, const at::Tensor& result) {
  return x.is_contiguous() ? result.contiguous() : result;
}

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
    const DepthwiseArgs<scalar_t> a{pixels.const_data_ptr<scalar_t>(), taps.const_data_ptr<Sum<scalar_t>>(),
                                    result.mutable_data_ptr<scalar_t>(), nullptr, nullptr};
    const bool whole = is_whole(pixels);
    const DepthwisePlan plan = depthwise_plan(pixels, dilation, whole ? kWide<scalar_t, false> : 1, whole);
    start_depthwise<scalar_t, false>(a, plan, x.size(0), whole);
  });
  return laid_out_as(x, result);
}

std::tuple<at::Tensor, at::Tensor> depthwise_conv_backward_cuda(const at::Tensor& slope, const at::Tensor& x,
                                                                const at::Tensor& weight, int64_t dilation) {
  const DeviceGuard guard(x.device());
  const at::Tensor pixels = in_pixels(x), slopes = in_pixels(slope), taps = in_taps(weight);
  const at::Tensor dx = at::empty(x.sizes(), x.options(), at::MemoryFormat::ChannelsLast);
  if (dx.numel() == 0) return {dx, at::zeros_like(weight)};
  const at::Tensor dweight = at::empty(weight.sizes(), weight.options());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "depthwise_conv_backward", [&] {
    using T = Sum<scalar_t>;
    const bool whole = is_whole(pixels) && is_whole(slopes);
    const DepthwisePlan plan = depthwise_plan(pixels, dilation, whole ? kWide<scalar_t, true> : 1, whole);
    const int64_t tiles = x.size(0) * plan.down * plan.across;
    const at::Tensor parts = at::empty({tiles, weight.numel()}, weight.options());
    const DepthwiseArgs<scalar_t> a{slopes.const_data_ptr<scalar_t>(), taps.const_data_ptr<T>(),
                                    dx.mutable_data_ptr<scalar_t>(), pixels.const_data_ptr<scalar_t>(),
                                    parts.mutable_data_ptr<T>()};
    start_depthwise<scalar_t, true>(a, plan, x.size(0), whole);
    column_sums(parts.const_data_ptr<T>(), dweight.mutable_data_ptr<T>(), tiles, weight.numel());
  });
  return {laid_out_as(x, dx), dweight};
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("depthwise_conv", depthwise_conv_cuda);
  m.impl("depthwise_conv_backward", depthwise_conv_backward_cuda);
}

}  // namespace tessera
