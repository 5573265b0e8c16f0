#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>

#include "core/host_device.h"
#include "cuda/common/pack.h"
#include "cuda/common/row_visit.h"
#include "cuda/tokens/gelu.h"

namespace tessera {
namespace {

template <class T>
struct GeluArgs {
  const T *x, *grad_out;
  const Compute<T>* bias;
  T* out;
  Compute<T>* parts;  // (blocks of rows, width): this block's part of the bias's gradient
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
__global__ void __launch_bounds__(32 * kVisitWarps) bias_gelu_kernel(GeluArgs<T> a) {
  using C = Compute<T>;
  const int column = visit_column<kSize>();
  if (column >= a.width) return;
  const Pack<C, kSize> bias = load_bias<kSize>(a, column);
  visit_rows<4>(
      a.rows, [&](int64_t row) { return load_pack<kSize>(a.x + row * a.width + column); },
      [&](int64_t row, Pack<T, kSize> x) {
        for (int k = 0; k < kSize; ++k) x.value[k] = static_cast<T>(gelu(static_cast<C>(x.value[k]) + bias.value[k]));
        store_pack(a.out + row * a.width + column, x);
      });
}

// Traffic: x and grad_out read once, x's gradient written once; the bias's gradient costs nothing on top.
template <int kSize, class T>
__global__ void __launch_bounds__(32 * kVisitWarps) bias_gelu_backward_kernel(GeluArgs<T> a) {
  using C = Compute<T>;
  struct Inputs {
    Pack<T, kSize> x, grad_out;
  };
  const int column = visit_column<kSize>();
  C sum[kSize] = {};
  if (column < a.width) {
    const Pack<C, kSize> bias = load_bias<kSize>(a, column);
    visit_rows<2>(
        a.rows,
        [&](int64_t row) {
          const int64_t at = row * a.width + column;
          return Inputs{load_pack<kSize>(a.x + at), load_pack<kSize>(a.grad_out + at)};
        },
        [&](int64_t row, const Inputs& in) {
          Pack<T, kSize> out;
          for (int k = 0; k < kSize; ++k) {
            const C dx = static_cast<C>(in.grad_out.value[k]) * gelu_derivative(static_cast<C>(in.x.value[k]) + bias.value[k]);
            sum[k] += dx;
            out.value[k] = static_cast<T>(dx);
          }
          store_pack(a.out + row * a.width + column, out);
        });
  }
  leave_sums(sum, a.parts, a.width);
}

template <class T>
bool gelu_packs_fit(const GeluArgs<T>& a) {
  return a.width % (16 / static_cast<int>(sizeof(T))) == 0 && is_aligned(a.x) && is_aligned(a.grad_out) && is_aligned(a.out);
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
           visit_grid(a.rows, a.width, packs ? kSize : 1), 32 * kVisitWarps, 0, a);
  });
  return out;
}

std::tuple<at::Tensor, at::Tensor> bias_gelu_backward_cuda(const at::Tensor& grad_out, const at::Tensor& x,
                                                           const at::Tensor& bias) {
  const DeviceGuard guard(x.device());
  const at::Tensor grad_x = at::empty_like(x);
  if (x.numel() == 0) return {grad_x, at::zeros_like(bias)};
  const at::Tensor grad_bias = at::empty_like(bias);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kBFloat16, at::kHalf, x.scalar_type(), "bias_gelu_backward", [&] {
    using C = Compute<scalar_t>;
    const int64_t width = x.size(-1), rows = x.numel() / width, blocks = visit_blocks(rows);
    const at::Tensor parts = at::empty({blocks, width}, bias.options());
    const GeluArgs<scalar_t> a{x.const_data_ptr<scalar_t>(), grad_out.const_data_ptr<scalar_t>(),
                               bias.const_data_ptr<C>(),     grad_x.mutable_data_ptr<scalar_t>(),
                               parts.mutable_data_ptr<C>(),  rows,
                               static_cast<int>(width)};
    constexpr int kSize = 16 / sizeof(scalar_t);
    const bool packs = gelu_packs_fit(a);
    launch(packs ? bias_gelu_backward_kernel<kSize, scalar_t> : bias_gelu_backward_kernel<1, scalar_t>,
           visit_grid(rows, width, packs ? kSize : 1), 32 * kVisitWarps, 0, a);
    column_sums(parts.const_data_ptr<C>(), grad_bias.mutable_data_ptr<C>(), blocks, width);
  });
  return {grad_x, grad_bias};
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("bias_gelu", bias_gelu_cuda);
  m.impl("bias_gelu_backward", bias_gelu_backward_cuda);
}

}  // namespace tessera
