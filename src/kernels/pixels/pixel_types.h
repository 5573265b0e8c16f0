#pragma once
#include <ATen/Dispatch.h>
#include <ATen/core/Tensor.h>

#include <algorithm>

#include "core/host_device.h"

namespace tessera {

inline constexpr int64_t kMostChannels = 64;  // what a kernel takes as an argument

// How pixels become network input, channel by channel.
template <class T>
struct PixelScale {
  T max_value;
  T mean[kMostChannels], std[kMostChannels];

  // One order of roundings on every device: a GPU's input is the CPU's to the bit.
  TSR_HOST_DEVICE T operator()(T value, int64_t channel) const { return (value / max_value - mean[channel]) / std[channel]; }
};

template <class T>
PixelScale<T> make_pixel_scale(double max_value, at::ArrayRef<double> mean, at::ArrayRef<double> std) {
  PixelScale<T> scale{};
  scale.max_value = static_cast<T>(max_value);
  std::transform(mean.begin(), mean.end(), scale.mean, [](double value) { return static_cast<T>(value); });
  std::transform(std.begin(), std.end(), scale.std, [](double value) { return static_cast<T>(value); });
  return scale;
}

// Calls work(In{}, Out{}) for the types of pixels and of the result.
template <class Work>
void with_pixel_types(at::ScalarType in, at::ScalarType out, const Work& work) {
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kBFloat16, at::kHalf, out, "normalize_pixels", [&] {
    using Out = scalar_t;
    AT_DISPATCH_FLOATING_TYPES_AND(at::kByte, in, "normalize_pixels", [&] { work(scalar_t{}, Out{}); });
  });
}

}  // namespace tessera
