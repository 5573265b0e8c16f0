#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "core/image.h"

namespace tessera {

// How a sample of a batch is mixed with another of it: in the box it is replaced, around it blended.
struct SampleMix {
  int64_t partner = 0;                              // row of the batch
  double share = 1;                                 // of the sample itself around the box
  double top = 0, left = 0, bottom = 0, right = 0;  // of the box, as shares of height and width; empty where top = bottom
};

// What the loader hands to the trainer: one global batch (or the part of it that is ours) as it came from the files.
struct Batch {
  at::Tensor images;                     // (N, H, W, C) uint8 or float32
  at::Tensor labels;                     // (N, H, W) int16, kIgnoreLabel where nothing counts
  float max_value = 255.0F;              // pixel value that stands for 1
  std::vector<int64_t> indices;          // of the samples in the data set
  std::vector<int64_t> draws = {};       // what the samples draw their random numbers by; no two of a batch are equal
  std::vector<ColorChange> colors = {};  // of each row, still to be done; empty: none
  std::vector<SampleMix> mixes = {};     // of our samples, the first rows: those after them are partners only; empty: none
  bool blends = false;                   // some batches of this run blend samples, so that each has labels of two
  int64_t size() const { return static_cast<int64_t>(indices.size()); }
};

}  // namespace tessera
