#include "nn/blocks/resize.h"

#include <torch/types.h>

namespace tessera {

at::Tensor resize_to(const at::Tensor& x, const at::Tensor& like, bool align_corners) {
  if (x.size(2) == like.size(2) && x.size(3) == like.size(3)) return x;
  return at::upsample_bilinear2d(x, {like.size(2), like.size(3)}, align_corners);
}

}  // namespace tessera
