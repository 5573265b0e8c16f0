#include "kernels/pixels/augment_pixels.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "core/error.h"
#include "kernels/common/find_op.h"
#include "kernels/pixels/input_loops.h"
#include "kernels/pixels/normalize_pixels.h"
#include "kernels/pixels/pixel_input.h"
#include "kernels/pixels/pixel_types.h"
#include "tensor/parallel_for.h"

namespace tessera {
namespace {

constexpr int64_t kGrain = 16;  // rows of pixels

// PixelScale for bytes: each of the 256 results of a channel is looked up.
template <class T>
class ByteScale {
 public:
  ByteScale(const PixelScale<T>& scale, int64_t channels) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int value = 0; value < 256; ++value) table_.push_back(scale(static_cast<T>(value), c));
    }
  }
  T operator()(T value, int channel) const { return table_[static_cast<size_t>(channel * 256 + static_cast<int>(value))]; }

 private:
  std::vector<T> table_;
};

// Row y of a result.
template <int kCount, class In, class Out, class Scale>
void augment_row(const In* own, const In* partner, Out* out, int y, int width, int channels, const UnitMix<Compute<Out>>& mix,
                 const Scale& scale) {
  Compute<Out> values[kCount];
  for (int x = 0; x < width; ++x) {
    for (int channel = 0; channel < channels; channel += kCount) {
      mix.template make<kCount>(own, partner, y, x, channel, scale, values);
      for (int c = 0; c < kCount; ++c) out[c] = static_cast<Out>(values[c]);
      own += kCount;
      partner += kCount;
      out += kCount;
    }
  }
}

// The same of RGB bytes in float32, with vectors.
class RgbRows {
 public:
  RgbRows(const RgbScale& scale, int width) : scale_(scale), width_(width), values_(static_cast<size_t>(6 * width)) {}

  void make(const uint8_t* own, const uint8_t* partner, float* out, int y, const UnitMix<float>& mix) {
    input_loops().scale_rgb(own, out, width_, mix.color, scale_);
    const auto& box = mix.mix;
    const bool boxed = y >= box.top && y < box.bottom && box.left < box.right;
    if (!mix.mixed || (box.own_weight == 1 && !boxed)) return;
    float* const other = values_.data() + 3 * width_;
    input_loops().scale_rgb(partner, other, width_, mix.partner_color, scale_);
    if (box.own_weight != 1) {
      for (int i = 0; i < 3 * width_; ++i) out[i] = box.blend(out[i], other[i]);
    }
    if (boxed)
      std::copy(other + 3 * std::max(0, box.left), other + 3 * std::min(width_, box.right), out + 3 * std::max(0, box.left));
  }

  // Of another type.
  template <class Out>
  void make(const uint8_t* own, const uint8_t* partner, Out* out, int y, const UnitMix<float>& mix) {
    make(own, partner, values_.data(), y, mix);
    for (int i = 0; i < 3 * width_; ++i) out[i] = static_cast<Out>(values_[static_cast<size_t>(i)]);
  }

 private:
  const RgbScale& scale_;
  int width_;
  std::vector<float> values_;  // a row of a result, and one of a partner
};

bool can_use_vectors(const PixelColor* colors, int64_t count) {
  return colors == nullptr ||
         std::all_of(colors, colors + count, [](const PixelColor& color) { return std::abs(color.sectors) <= kMostSectors; });
}

at::Tensor augment_pixels_cpu(const at::Tensor& images, const at::Tensor& mixes, const std::optional<at::Tensor>& colors,
                              double max_value, at::ArrayRef<double> mean, at::ArrayRef<double> std, at::ScalarType type) {
  const int64_t count = mixes.size(0), height = images.size(1), row = images.size(2) * images.size(3);
  const auto width = static_cast<int>(images.size(2)), channels = static_cast<int>(images.size(3));
  const at::Tensor result = at::empty({count, height, images.size(2), images.size(3)}, images.options().dtype(type));
  const auto* const mix_rows = reinterpret_cast<const PixelMix*>(mixes.const_data_ptr<double>());
  const auto* const color_rows =
      colors ? reinterpret_cast<const PixelColor*>(colors->const_data_ptr<float>()) : static_cast<const PixelColor*>(nullptr);
  with_pixel_types(images.scalar_type(), type, [&]<class In, class Out>(In, Out) {
    using T = Compute<Out>;
    const auto plain = make_pixel_scale<T>(max_value, mean, std);
    const std::conditional_t<std::is_same_v<In, uint8_t>, ByteScale<T>, PixelScale<T>> scale = [&] {
      if constexpr (std::is_same_v<In, uint8_t>) {
        return ByteScale<T>(plain, channels);
      } else {
        return plain;
      }
    }();
    const In* const in = images.const_data_ptr<In>();
    Out* const out = result.mutable_data_ptr<Out>();
    std::optional<RgbScale> rgb;
    if constexpr (std::is_same_v<In, uint8_t> && std::is_same_v<T, float>) {
      if (channels == 3 && can_use_vectors(color_rows, images.size(0)))
        rgb = exact_rgb_scale(plain.max_value, plain.mean, plain.std);
    }
    const auto augment = channels == 3 ? augment_row<3, In, Out, decltype(scale)> : augment_row<1, In, Out, decltype(scale)>;
    parallel_for(0, count * height, kGrain, [&](int64_t begin, int64_t end) {
      std::optional<RgbRows> rows;
      if (rgb) rows.emplace(*rgb, width);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t y = i % height;
        const PixelMix& mix = mix_rows[i / height];
        const auto source = [&](double image) { return in + (static_cast<int64_t>(image) * height + y) * row; };
        const UnitMix<T> unit = unit_mix<T>(mix, color_rows);
        if constexpr (std::is_same_v<In, uint8_t> && std::is_same_v<T, float>) {
          if (rows) {
            rows->make(source(mix.own), source(mix.partner), out + i * row, static_cast<int>(y), unit);
            continue;
          }
        }
        augment(source(mix.own), source(mix.partner), out + i * row, static_cast<int>(y), width, channels, unit, scale);
      }
    });
  });
  return result.permute({0, 3, 1, 2});
}

template <class Row, class Number>
at::Tensor as_table(const std::vector<Row>& rows, int64_t numbers, Number) {
  at::Tensor table = at::empty({static_cast<int64_t>(rows.size()), numbers},
                               at::TensorOptions().dtype(c10::CppTypeToScalarType<Number>::value));
  if (!rows.empty()) std::memcpy(table.mutable_data_ptr(), rows.data(), rows.size() * sizeof(Row));
  return table;
}

}  // namespace

at::Tensor table_of(const std::vector<PixelMix>& rows) {
  return as_table(rows, kPixelMixNumbers, double{});
}

at::Tensor table_of(const std::vector<PixelColor>& rows) {
  return as_table(rows, kPixelColorNumbers, float{});
}

at::Tensor augment_pixels(const at::Tensor& images, const at::Tensor& mixes, const at::Tensor& colors, double max_value,
                          const std::vector<double>& mean, const std::vector<double>& std, at::ScalarType type) {
  check_pixels(images);
  TSR_CHECK(mixes.dim() == 2 && mixes.size(1) == kPixelMixNumbers && mixes.scalar_type() == at::kDouble,
            "expected a float64 table of {} numbers for each result", kPixelMixNumbers);
  TSR_CHECK(!colors.defined() || (colors.dim() == 2 && colors.size(0) == images.size(0) &&
                                  colors.size(1) == kPixelColorNumbers && colors.scalar_type() == at::kFloat),
            "expected a float32 table of {} numbers for each of {} images", kPixelColorNumbers, images.size(0));
  static const auto op = find_op<decltype(augment_pixels_cpu)>("tessera::augment_pixels");
  return op.call(images.contiguous(), mixes.contiguous(),
                 colors.defined() ? std::optional<at::Tensor>(colors.contiguous()) : std::nullopt, max_value,
                 for_all_channels(mean, images), for_all_channels(std, images), type);
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def(
      "augment_pixels(Tensor images, Tensor mixes, Tensor? colors, float max_value, float[] mean, float[] std, ScalarType "
      "type) -> Tensor");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("augment_pixels", augment_pixels_cpu);
}

}  // namespace tessera
