#pragma once
#include "kernels/features/upconv_concat.h"
#include "kernels/norm/norm_act.h"

namespace tessera {

struct NormPooled {
  at::Tensor pooled;         // (N, C, H / 2, W / 2)
  at::Tensor y;              // (N, C, H, W), the last channels of concat_buffer
  at::Tensor concat_buffer;  // (N, before + C, H, W): see upconv2x2_concat
};

// norm_act with ReLU, and the 2 x 2 maxima of its result: what a U-Net does at the end of a height. The result y goes straight
// to where a join will want it, behind `before` channels that are still free; the maxima come from the same pass over x. In
// backward the gradients of y and of the maxima are added as they are read, and never stored. x: one for which
// can_fuse_norm_pool.
NormPooled norm_pool(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& moments,
                     const NormActOptions& options, int64_t before);

// Sides are even, channels lie side by side, the parameters have the type that sums are made in.
bool can_fuse_norm_pool(const at::Tensor& x, const at::Tensor& weight);

}  // namespace tessera
