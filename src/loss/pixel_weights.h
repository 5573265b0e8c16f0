#pragma once
#include <ATen/core/Tensor.h>

#include <functional>

namespace tessera {

// How often each pixel counts: (N, H, W) floats, from labels (N, H, W). Empty: all once.
using PixelWeights = std::function<at::Tensor(const at::Tensor& labels)>;

// 1 + boost * exp(-d^2 / (2 sigma^2)), where d is the distance in pixels to the nearest one at a boundary, and 1 beyond three
// sigma. At a boundary is a pixel with another label (or another set of classes) above, below or beside it; ignored pixels make
// none.
PixelWeights boundary_weights(double boost, double sigma);

}  // namespace tessera
