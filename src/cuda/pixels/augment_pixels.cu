#include <ATen/ops/empty.h>

#include "cuda/common/launch.h"
#include "cuda/common/pack.h"
#include "kernels/pixels/pixel_input.h"
#include "kernels/pixels/pixel_types.h"

namespace tessera {
namespace {

constexpr int kAugmentThreads = 256;

struct AugmentSize {
  int width, channels;
  int64_t values;  // of an image
};

// blockIdx.y is the result; a thread makes kUnits neighbouring units of it, see kernels/pixels/pixel_input.h. Traffic for an
// RGB pixel from bytes to bfloat16: 3 bytes read, 3 more of a partner, 6 written.
template <int kCount, int kUnits, class In, class Out>
__global__ void __launch_bounds__(kAugmentThreads)
    augment_kernel(const In* images, const PixelMix* mixes, const PixelColor* colors, Out* results, AugmentSize size,
                   PixelScale<Compute<Out>> scale) {
  constexpr int kValues = kCount * kUnits;
  const int64_t at = (static_cast<int64_t>(blockIdx.x) * kAugmentThreads + threadIdx.x) * kValues;
  if (at >= size.values) return;
  const PixelMix row = mixes[blockIdx.y];
  const auto mix = unit_mix<Compute<Out>>(row, colors);
  Pack<In, kUnits> own[kCount], partner[kCount] = {};
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    own[i] = load_pack<kUnits>(images + static_cast<int64_t>(row.own) * size.values + at + i * kUnits);
    if (mix.mixed) partner[i] = load_pack<kUnits>(images + static_cast<int64_t>(row.partner) * size.values + at + i * kUnits);
  }
  const int64_t pixel = at / size.channels;
  const int channel = kCount == 3 ? 0 : static_cast<int>(at - pixel * size.channels);
  int y = static_cast<int>(pixel / size.width), x = static_cast<int>(pixel - static_cast<int64_t>(y) * size.width);
  Pack<Out, kUnits> made[kCount];
#pragma unroll
  for (int unit = 0; unit < kUnits; ++unit) {
    In own_values[kCount], partner_values[kCount];
    Compute<Out> values[kCount];
#pragma unroll
    for (int c = 0; c < kCount; ++c) {
      const int i = unit * kCount + c;
      own_values[c] = own[i / kUnits].value[i % kUnits];
      partner_values[c] = partner[i / kUnits].value[i % kUnits];
    }
    mix.template make<kCount>(own_values, partner_values, y, x, channel, scale, values);
#pragma unroll
    for (int c = 0; c < kCount; ++c) {
      const int i = unit * kCount + c;
      made[i / kUnits].value[i % kUnits] = static_cast<Out>(values[c]);
    }
    if (++x == size.width) {  // only units that are pixels have neighbours here
      x = 0;
      ++y;
    }
  }
  Out* const to = results + blockIdx.y * size.values + at;
#pragma unroll
  for (int i = 0; i < kCount; ++i) store_pack(to + i * kUnits, made[i]);
}

at::Tensor augment_pixels_cuda(const at::Tensor& images, const at::Tensor& mixes, const std::optional<at::Tensor>& colors,
                               double max_value, at::ArrayRef<double> mean, at::ArrayRef<double> std, at::ScalarType type) {
  const DeviceGuard guard(images.device());
  const at::Tensor result =
      at::empty({mixes.size(0), images.size(1), images.size(2), images.size(3)}, images.options().dtype(type));
  if (result.numel() == 0) return result.permute({0, 3, 1, 2});
  const AugmentSize size{static_cast<int>(images.size(2)), static_cast<int>(images.size(3)), images[0].numel()};
  const auto* const color_rows =
      colors ? reinterpret_cast<const PixelColor*>(colors->const_data_ptr<float>()) : static_cast<const PixelColor*>(nullptr);
  with_pixel_types(images.scalar_type(), type, [&]<class In, class Out>(In, Out) {
    constexpr int kPacked = 16 / sizeof(Out);
    const auto* const in = images.const_data_ptr<In>();
    auto* const out = result.mutable_data_ptr<Out>();
    const bool rgb = size.channels == 3;
    const bool packs = rgb && size.values % (3 * kPacked) == 0 && is_aligned(in, kPacked * sizeof(In)) && is_aligned(out);
    const int64_t per_thread = packs ? 3 * kPacked : rgb ? 3 : 1;
    const dim3 grid(blocks_for(size.values, kAugmentThreads * per_thread), static_cast<unsigned>(mixes.size(0)));
    const auto kernel = packs ? augment_kernel<3, kPacked, In, Out>
                        : rgb ? augment_kernel<3, 1, In, Out>
                              : augment_kernel<1, 1, In, Out>;
    launch(kernel, grid, kAugmentThreads, 0, in, reinterpret_cast<const PixelMix*>(mixes.const_data_ptr<double>()), color_rows,
           out, size, make_pixel_scale<Compute<Out>>(max_value, mean, std));
  });
  return result.permute({0, 3, 1, 2});
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("augment_pixels", augment_pixels_cuda);
}

}  // namespace tessera
