#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>

#include "cuda/column_sums.h"
#include "cuda/launch.h"
#include "cuda/pack.h"
#include "kernels/compute_type.h"
#include "kernels/gelu.h"

namespace tessera {
namespace {

// A lane stays in its columns, a block's warps take rows in turn: the bias stays in registers.
constexpr int kGeluWarps = 8;
constexpr int64_t kForwardRows = 64, kBackwardRows = 256;  // of a block

template <class T>
struct GeluArgs {
  const T *x, *slope;
  const Compute<T>* bias;
  T* out;
  Compute<T>* parts;  // (blocks of rows, width): this block's share of the bias's gradient
  int64_t rows;
  int width;
};

template <int kSize, class T>
__device__ __forceinline__ Pack<Compute<T>, kSize> load_bias(const GeluArgs<T>& a, int column) {
  Pack<Compute<T>, kSize> bias;
  for (int k = 0; k < kSize; ++k) bias.value[k] = a.bias[column + k];
  return bias;
}

// Traffic: x read once, the result written once.
template <int kSize, class T>
__global__ void __launch_bounds__(32 * kGeluWarps) bias_gelu_kernel(GeluArgs<T> a) {
  using C = Compute<T>;
  const int column = (static_cast<int>(blockIdx.x) * 32 + threadIdx.x % 32) * kSize;
  if (column >= a.width) return;
  const Pack<C, kSize> bias = load_bias<kSize>(a, column);
  const int64_t begin = blockIdx.y * kForwardRows, end = begin + kForwardRows < a.rows ? begin + kForwardRows : a.rows;
  for (int64_t row = begin + threadIdx.x / 32; row < end; row += kGeluWarps) {
    Pack<T, kSize> x = load_pack<kSize>(a.x + row * a.width + column);
    for (int k = 0; k < kSize; ++k) x.value[k] = static_cast<T>(gelu(static_cast<C>(x.value[k]) + bias.value[k]));
    store_pack(a.out + row * a.width + column, x);
  }
}

// Traffic: x and the slope read once, x's gradient written once; the bias's gradient costs nothing on top.
template <int kSize, class T>
__global__ void __launch_bounds__(32 * kGeluWarps) bias_gelu_backward_kernel(GeluArgs<T> a) {
  using C = Compute<T>;
  __shared__ C sums[kGeluWarps][32 * kSize];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int column = (static_cast<int>(blockIdx.x) * 32 + lane) * kSize;
  const int64_t begin = blockIdx.y * kBackwardRows, end = begin + kBackwardRows < a.rows ? begin + kBackwardRows : a.rows;
  C sum[kSize] = {};
  if (column < a.width) {
    const Pack<C, kSize> bias = load_bias<kSize>(a, column);
    for (int64_t row = begin + warp; row < end; row += kGeluWarps) {
      const Pack<T, kSize> x = load_pack<kSize>(a.x + row * a.width + column);
      Pack<T, kSize> slope = load_pack<kSize>(a.slope + row * a.width + column);
      for (int k = 0; k < kSize; ++k) {
        const C dx = static_cast<C>(slope.value[k]) * gelu_slope(static_cast<C>(x.value[k]) + bias.value[k]);
        sum[k] += dx;
        slope.value[k] = static_cast<T>(dx);
      }
      store_pack(a.out + row * a.width + column, slope);
    }
  }
  for (int k = 0; k < kSize; ++k) sums[warp][k * 32 + lane] = sum[k];
  __syncthreads();
  if (warp > 0 || column >= a.width) return;
  for (int k = 0; k < kSize; ++k) {
    C total = 0;
    for (int w = 0; w < kGeluWarps; ++w) total += sums[w][k * 32 + lane];
    a.parts[blockIdx.y * static_cast<int64_t>(a.width) + column + k] = total;
  }
}

template <class T>
bool gelu_packs_fit(const GeluArgs<T>& a) {
  return a.width % (16 / static_cast<int>(sizeof(T))) == 0 && is_aligned(a.x) && is_aligned(a.slope) && is_aligned(a.out);
}

template <class T>
dim3 gelu_grid(const GeluArgs<T>& a, int size, int64_t rows_per_block) {
  return dim3(static_cast<unsigned>((a.width + 32 * size - 1) / (32 * size)),
              static_cast<unsigned>((a.rows + rows_per_block - 1) / rows_per_block));
}

at::Tensor bias_gelu_cuda(const at::Tensor& x, const at::Tensor& bias) {
  const DeviceGuard guard(x.device());
  const at::Tensor out = at::empty_like(x);
  if (x.numel() == 0) return out;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kBFloat16, at::kHalf, x.scalar_type(), "bias_gelu", [&] {
    const GeluArgs<scalar_t> a{x.const_data_ptr<scalar_t>(),     nullptr, bias.const_data_ptr<Compute<scalar_t>>(),
                               out.mutable_data_ptr<scalar_t>(), nullptr, x.numel() / x.size(-1),
                               static_cast<int>(x.size(-1))};
    constexpr int kSize = 16 / sizeof(scalar_t);
    const bool packs = gelu_packs_fit(a);
    launch(packs ? bias_gelu_kernel<kSize, scalar_t> : bias_gelu_kernel<1, scalar_t>,
           gelu_grid(a, packs ? kSize : 1, kForwardRows), 32 * kGeluWarps, 0, a);
  });
  return out;
}

std::tuple<at::Tensor, at::Tensor> bias_gelu_backward_cuda(const at::Tensor& slope, const at::Tensor& x,
                                                           const at::Tensor& bias) {
  const DeviceGuard guard(x.device());
  const at::Tensor dx = at::empty_like(x);
  if (x.numel() == 0) return {dx, at::zeros_like(bias)};
  const at::Tensor dbias = at::empty_like(bias);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kBFloat16, at::kHalf, x.scalar_type(), "bias_gelu_backward", [&] {
    using C = Compute<scalar_t>;
    const int64_t width = x.size(-1), rows = x.numel() / width, blocks = (rows + kBackwardRows - 1) / kBackwardRows;
    const at::Tensor parts = at::empty({blocks, width}, bias.options());
    const GeluArgs<scalar_t> a{x.const_data_ptr<scalar_t>(),    slope.const_data_ptr<scalar_t>(), bias.const_data_ptr<C>(),
                               dx.mutable_data_ptr<scalar_t>(), parts.mutable_data_ptr<C>(),      rows,
                               static_cast<int>(width)};
    constexpr int kSize = 16 / sizeof(scalar_t);
    const bool packs = gelu_packs_fit(a);
    launch(packs ? bias_gelu_backward_kernel<kSize, scalar_t> : bias_gelu_backward_kernel<1, scalar_t>,
           gelu_grid(a, packs ? kSize : 1, kBackwardRows), 32 * kGeluWarps, 0, a);
    column_sums(parts.const_data_ptr<C>(), dbias.mutable_data_ptr<C>(), blocks, width);
  });
  return {dx, dbias};
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("bias_gelu", bias_gelu_cuda);
  m.impl("bias_gelu_backward", bias_gelu_backward_cuda);
}

}  // namespace tessera
