#include <ATen/ops/empty.h>

#include "cuda/common/launch.h"
#include "cuda/common/pack.h"
#include "kernels/pixels/pixel_types.h"

namespace tessera {
namespace {

constexpr int kPixelThreads = 256;

// A thread makes kSize neighbouring values. Traffic: each pixel read once and written once, 9 bytes for three channels from
// bytes to bfloat16.
template <int kSize, class In, class Out>
__global__ void __launch_bounds__(kPixelThreads)
    normalize_kernel(const In* in, Out* out, int64_t count, int64_t channels, PixelScale<Compute<Out>> scale) {
  const int64_t at = (static_cast<int64_t>(blockIdx.x) * kPixelThreads + threadIdx.x) * kSize;
  if (at >= count) return;
  int64_t channel = at % channels;
  const auto next = [&](In value) {
    const Compute<Out> result = scale(static_cast<Compute<Out>>(value), channel);
    if (++channel == channels) channel = 0;
    return static_cast<Out>(result);
  };
  if (at + kSize > count) {
    for (int64_t i = at; i < count; ++i) out[i] = next(in[i]);
    return;
  }
  const Pack<In, kSize> values = load_pack<kSize>(in + at);
  Pack<Out, kSize> results;
  for (int k = 0; k < kSize; ++k) results.value[k] = next(values.value[k]);
  store_pack(out + at, results);
}

at::Tensor normalize_pixels_cuda(const at::Tensor& images, double max_value, at::ArrayRef<double> mean,
                                 at::ArrayRef<double> std, at::ScalarType type) {
  const DeviceGuard guard(images.device());
  const at::Tensor result = at::empty(images.sizes(), images.options().dtype(type));
  const int64_t count = images.numel();
  if (count == 0) return result.permute({0, 3, 1, 2});
  with_pixel_types(images.scalar_type(), type, [&]<class In, class Out>(In, Out) {
    constexpr int kSize = 16 / sizeof(Out);
    const auto* const in = images.const_data_ptr<In>();
    auto* const out = result.mutable_data_ptr<Out>();
    const bool packs = is_aligned(in, kSize * sizeof(In)) && is_aligned(out, kSize * sizeof(Out));
    const int64_t per_block = static_cast<int64_t>(kPixelThreads) * (packs ? kSize : 1);
    launch(packs ? normalize_kernel<kSize, In, Out> : normalize_kernel<1, In, Out>,
           static_cast<unsigned>((count + per_block - 1) / per_block), kPixelThreads, 0, in, out, count, images.size(3),
           make_pixel_scale<Compute<Out>>(max_value, mean, std));
  });
  return result.permute({0, 3, 1, 2});
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("normalize_pixels", normalize_pixels_cuda);
}

}  // namespace tessera
