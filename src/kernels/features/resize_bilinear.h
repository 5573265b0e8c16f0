#pragma once
#include <ATen/core/Tensor.h>

namespace tessera {

// Features (N, C, h, w) resized to `size` (height, width), bilinear by the rule of torch's upsample_bilinear2d. Any strides;
// the result is channels_last where x is. The gradient is gathered: each input pixel sums the output pixels that read it, in a
// fixed order, so it is the same from run to run.
at::Tensor resize_bilinear(const at::Tensor& x, at::IntArrayRef size, bool align_corners);

// The same where x has another size, by libtorch where ours are turned off.
at::Tensor resize(const at::Tensor& x, at::IntArrayRef size, bool align_corners);

// at::cat of the tensors along the channels, each resized to `size` first; those that have the size are copied. What is resized
// is written straight into its channels of the result, which is channels_last where one of the tensors is.
at::Tensor resize_concat(at::TensorList xs, at::IntArrayRef size, bool align_corners);

}  // namespace tessera
