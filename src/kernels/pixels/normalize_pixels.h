#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

namespace tessera {

// (value / max_value - mean) / std of each channel, in one pass: (N, H, W, C) bytes, float32 or float64 to (N, C, H, W) of type
// `type`, stored channels-last. mean, std: C numbers, or one for all channels. Computes in float32, for float64 results in
// float64.
at::Tensor normalize_pixels(const at::Tensor& images, double max_value, const std::vector<double>& mean,
                            const std::vector<double>& std, at::ScalarType type);

// Whether it takes them: at most 64 channels of the types above.
bool can_normalize_pixels(const at::Tensor& images);
void check_pixels(const at::Tensor& images);  // throws Error where not

// One number for each channel of the images, from as many or from one.
std::vector<double> for_all_channels(const std::vector<double>& values, const at::Tensor& images);

}  // namespace tessera
