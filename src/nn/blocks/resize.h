#pragma once
#include <ATen/core/Tensor.h>

namespace tessera {

// Bilinear, to the height and width of `like`.
at::Tensor resize_to(const at::Tensor& x, const at::Tensor& like, bool align_corners);

}  // namespace tessera
