#pragma once
#include <ATen/core/Tensor.h>

namespace tessera {

// A 3x3 convolution of each channel with its own weight, as torch's conv2d with as many groups as channels, stride 1, padding
// equal to the dilation and no bias. x: (N, C, H, W), float32, float64, bfloat16 or float16; weight: (C, 1, 3, 3). Under
// autocast x is taken in autocast's type, as conv2d does; the weight is used as it is and gets its gradient in its own type,
// summed in float32 (float64 for float64) in a fixed order.
at::Tensor depthwise_conv(const at::Tensor& x, const at::Tensor& weight, int64_t dilation);

}  // namespace tessera
