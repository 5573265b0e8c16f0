#pragma once
#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "data/sample.h"

namespace tessera {

// Images of one size and type as Predictor takes them, after the validation transforms.
struct ImageGroup {
  at::Tensor pixels;  // (N, H, W, C)
  float max_value = 0;
  // Where the original lies in each image, to which a prediction is taken back; none: the image as it is here is wanted.
  std::vector<std::optional<Placement>> placements;

  int64_t size() const { return pixels.size(0); }
  int64_t height() const { return pixels.size(1); }
  int64_t width() const { return pixels.size(2); }
  ImageGroup part(int64_t first, int64_t count) const {
    return {pixels.narrow(0, first, count), max_value, {placements.begin() + first, placements.begin() + first + count}};
  }
};

}  // namespace tessera
