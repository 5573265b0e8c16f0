#pragma once
#include <ATen/core/Tensor.h>

namespace tessera {

// A convolution of stride 1 of images with few channels, as a matrix product over the patches under the kernel: (N, O, H', W')
// in channels_last. For 3 channels libraries pad each of a kernel's pixels to 8 or more; here all of them together are padded
// to a multiple of 8, and backward finds the patches as forward left them. x gets no gradient: it is the network's input.
//
// x: (N, C, H, W). weight: (O, C, k, k) of x's type.
at::Tensor patch_conv(const at::Tensor& x, const at::Tensor& weight, int64_t padding);

// Whether the patches are short enough for it to pay, and x wants no gradient.
bool can_use_patch_conv(const at::Tensor& x, const at::Tensor& weight);

// The patches, one for each pixel of the result, (N H' W', C k^2 rounded up to a multiple of 8 and filled with 0): rows of the
// kernel, in them columns, in them channels.
at::Tensor patch_rows(const at::Tensor& x, int64_t kernel, int64_t padding);

}  // namespace tessera
