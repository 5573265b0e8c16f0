#pragma once
#include <ATen/core/Tensor.h>

namespace tessera {

// A tensor (N, C, H, W) by its strides, in elements.
struct Strides {
  int64_t image, channel, row, column;
};
inline Strides strides_of(const at::Tensor& x) {
  return {x.stride(0), x.stride(1), x.stride(2), x.stride(3)};
}

}  // namespace tessera
