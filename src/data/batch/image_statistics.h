#pragma once
#include <ATen/core/Tensor.h>

#include "config/data_config.h"

namespace tessera {

// What the modes per_image and percentile of data.normalize take from a whole image: values become (value - shift) / range.
// Undefined for the mode fixed. (N, 1, 1, 1) each.
struct ImageStatistics {
  at::Tensor shift, range;

  bool defined() const { return shift.defined(); }
  ImageStatistics of(const std::vector<int64_t>& images) const;  // of these of the images, which may come more than once
};

// images: (N, H, W, C) as normalize_images takes them, or as stored (network_pixels makes `channels` of them). type: that is
// computed in. A large image is read in bands of rows and never converted whole: percentiles are the same values, mean and
// deviation the same but for the rounding of their sums.
ImageStatistics image_statistics(const at::Tensor& images, int64_t channels, float max_value, const NormalizeConfig& config,
                                 at::ScalarType type);

}  // namespace tessera
