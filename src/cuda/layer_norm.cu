#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <type_traits>

#include "cuda/column_sums.h"
#include "cuda/launch.h"
#include "cuda/pack.h"

namespace tessera {
namespace {

// A warp owns a row. What its lanes must see twice waits in shared memory, each lane's values at the lane's own places, so no
// barrier is needed.
constexpr int kRowWarps = 4;
constexpr int64_t kMostNormBlocks = 512;       // of the backward pass; fixed: the order of sums must not depend on the GPU
constexpr size_t kMostSharedBytes = 96 << 10;  // a block may have that on every GPU from sm_80 on

template <class T, class B, class O>
struct NormForward {
  const T* x;
  const B* branch;  // may be null
  const T *weight, *bias;
  T* sum;  // null without a branch
  O* out;
  T *mean, *rstd;
  int64_t rows;
  int width;
  T eps;
};

// Traffic per value, float32 x with a bfloat16 branch and result: 12 bytes (4 + 2 read, 4 + 2 written).
template <int kSize, class T, class B, class O>
__global__ void __launch_bounds__(32 * kRowWarps) layer_norm_kernel(NormForward<T, B, O> a) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * warps + warp;
  if (row >= a.rows) return;
  T* const kept = shared_memory<T>() + static_cast<int64_t>(warp) * a.width;
  const int64_t begin = row * a.width;
  T total = 0;
  for (int at = lane * kSize; at < a.width; at += 32 * kSize) {
    Pack<T, kSize> values = load_pack<kSize>(a.x + begin + at);
    if (a.branch != nullptr) {
      const Pack<B, kSize> added = load_pack<kSize>(a.branch + begin + at);
      for (int k = 0; k < kSize; ++k) values.value[k] += static_cast<T>(added.value[k]);
      store_pack(a.sum + begin + at, values);
    }
    for (int k = 0; k < kSize; ++k) total += values.value[k];
    store_pack(kept + at, values);
  }
  const T mean = warp_sum(total) / static_cast<T>(a.width);
  T squares = 0;
  for (int at = lane * kSize; at < a.width; at += 32 * kSize) {
    const Pack<T, kSize> values = load_pack<kSize>(kept + at);
    for (int k = 0; k < kSize; ++k) squares += (values.value[k] - mean) * (values.value[k] - mean);
  }
  const T rstd = T(1) / sqrt(warp_sum(squares) / static_cast<T>(a.width) + a.eps);
  for (int at = lane * kSize; at < a.width; at += 32 * kSize) {
    const Pack<T, kSize> values = load_pack<kSize>(kept + at), weight = load_pack<kSize>(a.weight + at),
                         bias = load_pack<kSize>(a.bias + at);
    Pack<O, kSize> results;
    for (int k = 0; k < kSize; ++k)
      results.value[k] = static_cast<O>((values.value[k] - mean) * rstd * weight.value[k] + bias.value[k]);
    store_pack(a.out + begin + at, results);
  }
  if (lane == 0) {
    a.mean[row] = mean;
    a.rstd[row] = rstd;
  }
}

template <class T, class B, class O>
struct NormBackward {
  const O* slope;
  const T* sum_slope;  // may be null
  const T *sum, *mean, *rstd, *weight;
  T* dx;
  B* dbranch;  // null where dx serves
  T* parts;    // (blocks, 2, width): this block's share of the gradients of weight and bias
  int64_t rows;
  int width;
};

// dx = rstd (g - mean(g) - y mean(g y)) with g = slope * weight, y = (x - mean) rstd. A block's warps take rows in turn. In
// shared memory a warp has a row's slope and y, and its own sums of slope * y and slope, which the block adds up at the end.
// Traffic per value, types as above: 16 bytes (2 + 4 + 4 read, 4 + 2 written).
template <int kSize, class T, class B, class O>
__global__ void __launch_bounds__(32 * kRowWarps) layer_norm_backward_kernel(NormBackward<T, B, O> a) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  T* const slopes = shared_memory<T>() + static_cast<int64_t>(warp) * 4 * a.width;
  T* const ys = slopes + a.width;
  T* const sums = ys + a.width;  // (2, width)
  const T count = static_cast<T>(a.width);
  for (int at = lane; at < 2 * a.width; at += 32) sums[at] = 0;
  __syncwarp();
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * warps + warp; row < a.rows; row += int64_t{gridDim.x} * warps) {
    const T mean = a.mean[row], rstd = a.rstd[row];
    const int64_t begin = row * a.width;
    T g_total = 0, gy_total = 0;
    for (int at = lane * kSize; at < a.width; at += 32 * kSize) {
      const Pack<O, kSize> slope = load_pack<kSize>(a.slope + begin + at);
      const Pack<T, kSize> x = load_pack<kSize>(a.sum + begin + at), weight = load_pack<kSize>(a.weight + at);
      Pack<T, kSize> y, d;
      for (int k = 0; k < kSize; ++k) {
        y.value[k] = (x.value[k] - mean) * rstd;
        d.value[k] = static_cast<T>(slope.value[k]);
        g_total += d.value[k] * weight.value[k];
        gy_total += d.value[k] * weight.value[k] * y.value[k];
      }
      store_pack(ys + at, y);
      store_pack(slopes + at, d);
    }
    const T g_mean = warp_sum(g_total) / count, gy_mean = warp_sum(gy_total) / count;
    for (int at = lane * kSize; at < a.width; at += 32 * kSize) {
      const Pack<T, kSize> y = load_pack<kSize>(ys + at), d = load_pack<kSize>(slopes + at),
                           weight = load_pack<kSize>(a.weight + at);
      Pack<T, kSize> weight_sum = load_pack<kSize>(sums + at), bias_sum = load_pack<kSize>(sums + a.width + at), dx{};
      if (a.sum_slope != nullptr) dx = load_pack<kSize>(a.sum_slope + begin + at);
      Pack<B, kSize> dbranch;
      for (int k = 0; k < kSize; ++k) {
        dx.value[k] += rstd * (d.value[k] * weight.value[k] - g_mean - y.value[k] * gy_mean);
        dbranch.value[k] = static_cast<B>(dx.value[k]);
        weight_sum.value[k] += d.value[k] * y.value[k];
        bias_sum.value[k] += d.value[k];
      }
      store_pack(a.dx + begin + at, dx);
      if (a.dbranch != nullptr) store_pack(a.dbranch + begin + at, dbranch);
      store_pack(sums + at, weight_sum);
      store_pack(sums + a.width + at, bias_sum);
    }
  }
  __syncthreads();
  const T* const first = shared_memory<T>() + 2 * a.width;
  for (int at = threadIdx.x; at < 2 * a.width; at += blockDim.x) {
    T total = 0;
    for (int w = 0; w < warps; ++w) total += first[static_cast<int64_t>(w) * 4 * a.width + at];
    a.parts[static_cast<int64_t>(blockIdx.x) * 2 * a.width + at] = total;
  }
}

// As many warps as the shared memory of a block has room for.
int row_warps(size_t bytes_per_row) {
  TORCH_CHECK(bytes_per_row <= kMostSharedBytes, "rows of LayerNorm are too wide for the GPU's kernel");
  return static_cast<int>(std::min<size_t>(kRowWarps, kMostSharedBytes / bytes_per_row));
}

bool packs_fit(int64_t width, int size, std::initializer_list<const void*> pointers) {
  return width % size == 0 && std::all_of(pointers.begin(), pointers.end(), [](const void* p) { return is_aligned(p); });
}

template <class T, class B, class O>
void run_forward(NormForward<T, B, O> a) {
  const size_t row_bytes = static_cast<size_t>(a.width) * sizeof(T);
  const int warps = row_warps(row_bytes);
  constexpr int kSize = 16 / sizeof(T);
  const bool packs = packs_fit(a.width, kSize, {a.x, a.branch, a.weight, a.bias, a.sum, a.out});
  launch(packs ? layer_norm_kernel<kSize, T, B, O> : layer_norm_kernel<1, T, B, O>,
         static_cast<unsigned>((a.rows + warps - 1) / warps), 32u * static_cast<unsigned>(warps),
         row_bytes * static_cast<size_t>(warps), a);
}

using Four = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

// Calls work(Short{}) with the type of the branch or of the result: T itself, or a half-length one.
template <class T, class Work>
void with_short_type(at::ScalarType type, const Work& work) {
  if (type == c10::CppTypeToScalarType<T>::value) return work(T{});
  const bool takes = std::is_same_v<T, float> && (type == at::kBFloat16 || type == at::kHalf);
  TORCH_CHECK(takes, "LayerNorm of float32 goes with bfloat16 and float16, that of float64 with itself; got ", toString(type));
  if constexpr (std::is_same_v<T, float>) type == at::kHalf ? work(at::Half{}) : work(at::BFloat16{});
}

Four add_layer_norm_cuda(const at::Tensor& x, const std::optional<at::Tensor>& branch, const at::Tensor& weight,
                         const at::Tensor& bias, double eps, at::ScalarType type) {
  const DeviceGuard guard(x.device());
  const int64_t width = x.size(-1), rows = width > 0 ? x.numel() / width : 0;
  const at::Tensor sum = branch ? at::empty_like(x) : x, out = at::empty(x.sizes(), x.options().dtype(type)),
                   mean = at::empty({rows}, x.options()), rstd = at::empty({rows}, x.options());
  if (rows == 0) return {sum, out, mean, rstd};
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "add_layer_norm", [&] {
    using T = scalar_t;
    with_short_type<T>(branch ? branch->scalar_type() : x.scalar_type(), [&]<class B>(B) {
      with_short_type<T>(type, [&]<class O>(O) {
        run_forward<T, B, O>({x.const_data_ptr<T>(), branch ? branch->const_data_ptr<B>() : nullptr, weight.const_data_ptr<T>(),
                              bias.const_data_ptr<T>(), branch ? sum.mutable_data_ptr<T>() : nullptr, out.mutable_data_ptr<O>(),
                              mean.mutable_data_ptr<T>(), rstd.mutable_data_ptr<T>(), rows, static_cast<int>(width),
                              static_cast<T>(eps)});
      });
    });
  });
  return {sum, out, mean, rstd};
}

template <class T, class B, class O>
void run_backward(NormBackward<T, B, O> a, unsigned blocks, int warps) {
  constexpr int kSize = 16 / sizeof(T);
  const bool packs = packs_fit(a.width, kSize, {a.slope, a.sum_slope, a.sum, a.weight, a.dx, a.dbranch});
  launch(packs ? layer_norm_backward_kernel<kSize, T, B, O> : layer_norm_backward_kernel<1, T, B, O>, blocks,
         32u * static_cast<unsigned>(warps), 4 * sizeof(T) * static_cast<size_t>(a.width) * static_cast<size_t>(warps), a);
}

Four add_layer_norm_backward_cuda(const at::Tensor& slope, const std::optional<at::Tensor>& sum_slope, const at::Tensor& sum,
                                  const at::Tensor& mean, const at::Tensor& rstd, const at::Tensor& weight,
                                  at::ScalarType branch_type) {
  const DeviceGuard guard(sum.device());
  const int64_t width = sum.size(-1), rows = width > 0 ? sum.numel() / width : 0;
  const bool own_branch = branch_type != sum.scalar_type();
  const at::Tensor dx = at::empty_like(sum);
  const at::Tensor dbranch = own_branch ? at::empty(sum.sizes(), sum.options().dtype(branch_type)) : dx;
  const at::Tensor gradients = at::empty({2, width}, sum.options());
  if (rows == 0) return {dx, dbranch, at::zeros_like(weight), at::zeros_like(weight)};
  AT_DISPATCH_FLOATING_TYPES(sum.scalar_type(), "add_layer_norm_backward", [&] {
    using T = scalar_t;
    const int warps = row_warps(4 * sizeof(T) * static_cast<size_t>(width));
    const int64_t blocks = std::min((rows + warps - 1) / warps, kMostNormBlocks);
    const at::Tensor parts = at::empty({blocks, 2, width}, sum.options());
    with_short_type<T>(branch_type, [&]<class B>(B) {
      with_short_type<T>(slope.scalar_type(), [&]<class O>(O) {
        run_backward<T, B, O>(
            {slope.const_data_ptr<O>(), sum_slope ? sum_slope->const_data_ptr<T>() : nullptr, sum.const_data_ptr<T>(),
             mean.const_data_ptr<T>(), rstd.const_data_ptr<T>(), weight.const_data_ptr<T>(), dx.mutable_data_ptr<T>(),
             own_branch ? dbranch.mutable_data_ptr<B>() : nullptr, parts.mutable_data_ptr<T>(), rows, static_cast<int>(width)},
            static_cast<unsigned>(blocks), warps);
      });
    });
    column_sums(parts.const_data_ptr<T>(), gradients.mutable_data_ptr<T>(), blocks, 2 * width);
  });
  return {dx, dbranch, gradients.select(0, 0), gradients.select(0, 1)};
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("add_layer_norm", add_layer_norm_cuda);
  m.impl("add_layer_norm_backward", add_layer_norm_backward_cuda);
}

}  // namespace tessera
