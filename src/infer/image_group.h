#pragma once
#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "data/batch/stored_pixels.h"
#include "data/sample.h"

namespace tessera {

// Images of one size and type as Predictor takes them, after the validation transforms.
struct ImageGroup {
  at::Tensor pixels;  // (N, H, W, C): bytes or floats, or as stored, see stored_pixels.h
  float max_value = 0;
  // Where the original lies in each image, to which a prediction is taken back; none: the image as it is here is wanted.
  std::vector<std::optional<Placement>> placements;
  int64_t channels = 0;  // that the network takes; 0: those of `pixels`

  int64_t size() const { return pixels.size(0); }
  int64_t height() const { return pixels.size(1); }
  int64_t width() const { return pixels.size(2); }
  int64_t num_channels() const { return channels > 0 ? channels : pixels.size(3); }
  at::Tensor converted() const { return network_pixels(pixels, num_channels()); }
  ImageGroup part(int64_t first, int64_t count) const {
    return {
        pixels.narrow(0, first, count), max_value, {placements.begin() + first, placements.begin() + first + count}, channels};
  }
};

}  // namespace tessera
