#include <ATen/Dispatch.h>
#include <ATen/ops/empty_like.h>

#include "core/host_device.h"
#include "cuda/common/launch.h"
#include "cuda/common/pack.h"

namespace tessera {
namespace {

constexpr int kNormalizeWarps = 8;

template <class T>
struct NormalizeArgs {
  const T *x, *grad_out;
  T* out;
  int64_t rows;
  int width;
};

// A warp owns a row and reads it twice, the second time from the nearest cache: a row of 768 is 1.5 kB.
// Traffic: x read once, the result written once.
template <int kSize, class T>
__global__ void __launch_bounds__(32 * kNormalizeWarps) l2_normalize_kernel(NormalizeArgs<T> a) {
  using C = Compute<T>;
  const int lane = threadIdx.x % 32;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kNormalizeWarps + threadIdx.x / 32, begin = row * a.width;
  if (row >= a.rows) return;
  C squares = 0;
#pragma unroll 4
  for (int at = lane * kSize; at < a.width; at += 32 * kSize) {
    const Pack<T, kSize> x = load_pack<kSize>(a.x + begin + at);
    for (int k = 0; k < kSize; ++k) squares += static_cast<C>(x.value[k]) * static_cast<C>(x.value[k]);
  }
  const C norm = sqrt(warp_sum(squares));
#pragma unroll 4
  for (int at = lane * kSize; at < a.width; at += 32 * kSize) {
    Pack<T, kSize> x = load_pack<kSize>(a.x + begin + at);
    for (int k = 0; k < kSize; ++k) x.value[k] = static_cast<T>(static_cast<C>(x.value[k]) / norm);
    store_pack(a.out + begin + at, x);
  }
}

// Traffic: x and grad_out read once, x's gradient written once.
template <int kSize, class T>
__global__ void __launch_bounds__(32 * kNormalizeWarps) l2_normalize_backward_kernel(NormalizeArgs<T> a) {
  using C = Compute<T>;
  const int lane = threadIdx.x % 32;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kNormalizeWarps + threadIdx.x / 32, begin = row * a.width;
  if (row >= a.rows) return;
  C squares = 0, products = 0;
#pragma unroll 4
  for (int at = lane * kSize; at < a.width; at += 32 * kSize) {
    const Pack<T, kSize> x = load_pack<kSize>(a.x + begin + at), grad_out = load_pack<kSize>(a.grad_out + begin + at);
    for (int k = 0; k < kSize; ++k) {
      squares += static_cast<C>(x.value[k]) * static_cast<C>(x.value[k]);
      products += static_cast<C>(x.value[k]) * static_cast<C>(grad_out.value[k]);
    }
  }
  squares = warp_sum(squares);
  const C projection = warp_sum(products) / squares, scale = C(1) / sqrt(squares);
#pragma unroll 4
  for (int at = lane * kSize; at < a.width; at += 32 * kSize) {
    Pack<T, kSize> x = load_pack<kSize>(a.x + begin + at);
    const Pack<T, kSize> grad_out = load_pack<kSize>(a.grad_out + begin + at);
    for (int k = 0; k < kSize; ++k)
      x.value[k] = static_cast<T>((static_cast<C>(grad_out.value[k]) - static_cast<C>(x.value[k]) * projection) * scale);
    store_pack(a.out + begin + at, x);
  }
}

// kernels: with packs, and without.
template <class T>
void launch_rows(const NormalizeArgs<T>& a, void (*packs)(NormalizeArgs<T>), void (*singles)(NormalizeArgs<T>)) {
  const bool fit =
      a.width % (16 / static_cast<int>(sizeof(T))) == 0 && is_aligned(a.x) && is_aligned(a.grad_out) && is_aligned(a.out);
  launch(fit ? packs : singles, blocks_for(a.rows, kNormalizeWarps), 32 * kNormalizeWarps, 0, a);
}

at::Tensor l2_normalize_rows_cuda(const at::Tensor& x) {
  const DeviceGuard guard(x.device());
  const at::Tensor out = at::empty_like(x);
  if (x.numel() == 0) return out;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kBFloat16, at::kHalf, x.scalar_type(), "l2_normalize_rows", [&] {
    launch_rows<scalar_t>({x.const_data_ptr<scalar_t>(), nullptr, out.mutable_data_ptr<scalar_t>(), x.numel() / x.size(-1),
                           static_cast<int>(x.size(-1))},
                          l2_normalize_kernel<16 / sizeof(scalar_t), scalar_t>, l2_normalize_kernel<1, scalar_t>);
  });
  return out;
}

at::Tensor l2_normalize_rows_backward_cuda(const at::Tensor& grad_out, const at::Tensor& x) {
  const DeviceGuard guard(x.device());
  const at::Tensor out = at::empty_like(x);
  if (x.numel() == 0) return out;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kBFloat16, at::kHalf, x.scalar_type(), "l2_normalize_rows_backward", [&] {
    launch_rows<scalar_t>({x.const_data_ptr<scalar_t>(), grad_out.const_data_ptr<scalar_t>(), out.mutable_data_ptr<scalar_t>(),
                           x.numel() / x.size(-1), static_cast<int>(x.size(-1))},
                          l2_normalize_backward_kernel<16 / sizeof(scalar_t), scalar_t>,
                          l2_normalize_backward_kernel<1, scalar_t>);
  });
  return out;
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("l2_normalize_rows", l2_normalize_rows_cuda);
  m.impl("l2_normalize_rows_backward", l2_normalize_rows_backward_cuda);
}

}  // namespace tessera
