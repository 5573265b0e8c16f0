#pragma once
#include <ATen/core/Tensor.h>

#include "kernels/loss/window_axis.h"

namespace tessera {

// The class of each pixel from the logits of overlapping windows, without their sums: what add_windows into zeros and the
// largest sum of each pixel give. (N, H, W) int16, of equal sums the lowest class.
// logits: (rows * N * columns, C, any size), of any float type and layout: windows row by row, in a row image by image; each is
// upsampled bilinearly to the size of `weights`, (h, w) float32, or float64 for float64 logits. No gradient.
at::Tensor windows_argmax(const at::Tensor& logits, const at::Tensor& weights, const WindowGrid& grid);

}  // namespace tessera
