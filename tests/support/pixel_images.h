#pragma once
#include <ATen/ATen.h>

#include <vector>

#include "support/test_device.h"

// Images for the tests of kernels that normalise pixels, and what these should give.
namespace tessera::testing {

// (N, H, W, C) of whole numbers below 256, the same for the same sizes.
inline at::Tensor images_of(at::IntArrayRef sizes, at::ScalarType type) {
  at::manual_seed(sizes.back());
  return at::randint(256, sizes, at::kLong).to(test_device(), type);
}

// A mean or deviation for each channel, all of them different.
inline std::vector<double> channel_numbers(int64_t count, double first) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(first + 0.013 * static_cast<double>(i));
  return values;
}

// In float64, (N, H, W, C).
inline at::Tensor normalized(const at::Tensor& images, double max_value, const std::vector<double>& mean,
                             const std::vector<double>& std) {
  const auto row = [&](const std::vector<double>& values) { return at::tensor(values, at::kDouble).to(images.device()); };
  return (images.to(at::kDouble) / max_value - row(mean)) / row(std);
}

}  // namespace tessera::testing
