#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

// What the loader hands to the trainer: one global batch (or the part of it that is ours) as it came from the files.
struct Batch {
  at::Tensor images;             // (N, H, W, C) uint8 or float32
  at::Tensor labels;             // (N, H, W) int16, kIgnoreLabel where nothing counts
  float max_value = 255.0F;      // pixel value that stands for 1
  std::vector<int64_t> indices;  // of the samples in the data set: the name of their random numbers
  int64_t size() const { return static_cast<int64_t>(indices.size()); }
};

}  // namespace tessera
