#pragma once
#include <ATen/core/Tensor.h>

namespace tessera {

// A transposed convolution with windows of 2 x 2 and stride 2, its bias, and a skip beside it: (N, C + S, 2 H, 2 W) in
// channels_last, with the convolution's C channels first. The windows do not overlap, so the convolution is a matrix product
// whose rows hold the four pixels that each pixel becomes; they are scattered to their places as the bias is added. Backward
// likewise: one pass gathers the gradient of the C channels into rows and adds up the bias's, two products do the rest; the
// skip's gradient is a slice.
//
// x: (N, K, H, W), channels_last for speed. weight: (K, C, 2, 2) of x's type. bias: (C), float32 (float64 with float64).
// skip: (N, S, 2 H, 2 W) of x's type.
// concat_buffer: of the result's size, with skip in its last channels already (make_concat_buffer); the result takes its
// memory. Undefined: skip is copied.
at::Tensor upconv2x2_concat(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& skip,
                            const at::Tensor& concat_buffer = {});

// Uninitialised memory for a concatenation of `before` channels and a skip like `skip` behind them.
struct ConcatBuffer {
  at::Tensor whole;
  at::Tensor skip;  // the slice of it where the skip belongs
};
ConcatBuffer make_concat_buffer(int64_t before, const at::Tensor& skip);

}  // namespace tessera
