#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <type_traits>

#include "cuda/column_sums.h"
#include "cuda/launch.h"
#include "cuda/layer_norm_backward.h"
#include "cuda/pack.h"

namespace tessera {
namespace {

// Of the backward pass; fixed: the order of sums must not depend on the GPU. Each of the 132 multiprocessors of an H200 has
// room for three, so that there all end together.
constexpr int64_t kMostNormBlocks = 396;
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

// A warp's row waits in shared memory for the second and third look.
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
  const unsigned threads = 32u * static_cast<unsigned>(warps);
  const size_t row_bytes = sizeof(T) * static_cast<size_t>(a.width) * static_cast<size_t>(warps);
  if constexpr (std::is_same_v<T, float> && std::is_same_v<B, O>) {
    if (packs && a.width <= kRegisterWidth) return launch(register_kernel<B>(a.width), blocks, threads, 2 * row_bytes, a);
  }
  launch(packs ? layer_norm_backward_kernel<kSize, T, B, O> : layer_norm_backward_kernel<1, T, B, O>, blocks, threads,
         4 * row_bytes, a);
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
