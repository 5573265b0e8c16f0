#pragma once
#include <ATen/core/Tensor.h>

#include <tuple>

namespace tessera {

// (a + bias, b) side by side along the channels, in channels_last: what a U-Net does with a transposed convolution, whose bias
// is then added on the way, and the skip beside it. In backward a's gradient and the bias's come from one reading; b's is a
// slice. a, b: (N, C, H, W) of one type. bias: (C of a), float32 (float64 with float64).
at::Tensor join_channels(const at::Tensor& a, const at::Tensor& bias, const at::Tensor& b);

// The sum of x (N, C, H, W) over all but the channels, in float32 (float64 for float64): the gradient of a bias. Added up in
// a fixed order.
at::Tensor channel_sums(const at::Tensor& x);

}  // namespace tessera
