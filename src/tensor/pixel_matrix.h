#pragma once
#include <ATen/core/Tensor.h>

namespace tessera {

// Images (N, C, H, W) as a matrix with a row for each pixel, (N H W, C); without a copy where they are channels_last.
inline at::Tensor pixel_rows(const at::Tensor& x) {
  return x.permute({0, 2, 3, 1}).reshape({-1, x.size(1)});
}
// Back again; `like`: the images' sizes but for the channels.
inline at::Tensor image_of_rows(const at::Tensor& rows, at::IntArrayRef like) {
  return rows.view({like[0], like[2], like[3], rows.size(1)}).permute({0, 3, 1, 2});
}

}  // namespace tessera
