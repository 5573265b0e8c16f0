#include "kernels/pixels/normalize_pixels.h"

#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "core/error.h"
#include "kernels/common/find_op.h"
#include "kernels/pixels/input_loops.h"
#include "kernels/pixels/pixel_types.h"
#include "tensor/parallel_for.h"

namespace tessera {
namespace {

constexpr int64_t kGrain = 1 << 14;  // pixels

template <class In, class Out>
void normalize_range(const In* in, Out* out, int64_t pixels, int64_t channels, const PixelScale<Compute<Out>>& scale) {
  for (int64_t i = 0; i < pixels; ++i) {
    for (int64_t c = 0; c < channels; ++c, ++in, ++out) *out = static_cast<Out>(scale(static_cast<Compute<Out>>(*in), c));
  }
}

// A byte has 256 values: each channel's results are looked up.
template <class Out>
std::vector<Out> byte_table(int64_t channels, const PixelScale<Compute<Out>>& scale) {
  std::vector<Out> table;
  for (int64_t c = 0; c < channels; ++c) {
    for (int value = 0; value < 256; ++value) table.push_back(static_cast<Out>(scale(static_cast<Compute<Out>>(value), c)));
  }
  return table;
}
template <class Out>
void look_up_range(const uint8_t* in, Out* out, int64_t pixels, int64_t channels, const Out* table) {
  if (channels == 3) {
    for (int64_t i = 0; i < pixels; ++i, in += 3, out += 3) {
      out[0] = table[in[0]];
      out[1] = table[256 + in[1]];
      out[2] = table[512 + in[2]];
    }
    return;
  }
  for (int64_t i = 0; i < pixels; ++i) {
    for (int64_t c = 0; c < channels; ++c) *out++ = table[c * 256 + *in++];
  }
}

at::Tensor normalize_pixels_cpu(const at::Tensor& images, double max_value, at::ArrayRef<double> mean, at::ArrayRef<double> std,
                                at::ScalarType type) {
  const at::Tensor result = at::empty(images.sizes(), images.options().dtype(type));
  const int64_t channels = images.size(3), pixels = channels > 0 ? images.numel() / channels : 0;
  with_pixel_types(images.scalar_type(), type, [&]<class In, class Out>(In, Out) {
    const auto scale = make_pixel_scale<Compute<Out>>(max_value, mean, std);
    const In* const in = images.const_data_ptr<In>();
    Out* const out = result.mutable_data_ptr<Out>();
    if constexpr (std::is_same_v<In, uint8_t> && std::is_same_v<Out, float>) {
      if (const auto rgb = channels == 3 ? exact_rgb_scale(scale.max_value, scale.mean, scale.std) : std::nullopt) {
        parallel_for(0, pixels, kGrain, [&](int64_t begin, int64_t end) {
          input_loops().scale_rgb(in + 3 * begin, out + 3 * begin, end - begin, nullptr, *rgb);
        });
        return;
      }
    }
    std::vector<Out> table;
    if constexpr (std::is_same_v<In, uint8_t>) table = byte_table<Out>(channels, scale);
    parallel_for(0, pixels, kGrain, [&](int64_t begin, int64_t end) {
      const int64_t at = begin * channels, count = end - begin;
      if constexpr (std::is_same_v<In, uint8_t>) {
        look_up_range(in + at, out + at, count, channels, table.data());
      } else {
        normalize_range(in + at, out + at, count, channels, scale);
      }
    });
  });
  return result.permute({0, 3, 1, 2});
}

}  // namespace

bool can_normalize_pixels(const at::Tensor& images) {
  const at::ScalarType type = images.scalar_type();
  return images.size(3) <= kMostChannels && (type == at::kByte || type == at::kFloat || type == at::kDouble);
}

void check_pixels(const at::Tensor& images) {
  TSR_CHECK(images.dim() == 4 && can_normalize_pixels(images),
            "expected images (N, H, W, C) of bytes or floats and at most {} channels", kMostChannels);
}

std::vector<double> for_all_channels(const std::vector<double>& values, const at::Tensor& images) {
  const auto channels = static_cast<size_t>(images.size(3));
  TSR_CHECK(values.size() == channels || values.size() == 1, "expected {} numbers or one, got {}", channels, values.size());
  return values.size() == 1 ? std::vector<double>(channels, values[0]) : values;
}

at::Tensor normalize_pixels(const at::Tensor& images, double max_value, const std::vector<double>& mean,
                            const std::vector<double>& std, at::ScalarType type) {
  check_pixels(images);
  static const auto op = find_op<decltype(normalize_pixels_cpu)>("tessera::normalize_pixels");
  return op.call(images.contiguous(), max_value, for_all_channels(mean, images), for_all_channels(std, images), type);
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def("normalize_pixels(Tensor images, float max_value, float[] mean, float[] std, ScalarType type) -> Tensor");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("normalize_pixels", normalize_pixels_cpu);
}

}  // namespace tessera
