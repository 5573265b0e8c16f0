#pragma once
#include <ATen/core/Tensor.h>

#include "tensor/too_large.h"

namespace tessera {

// tensor *= factor, where memory may be short: libtorch makes a tensor of the factor, and has changed nothing where it cannot.
inline void multiply(at::Tensor tensor, double factor) {
  make_with_kept_memory([&] { tensor.mul_(factor); });
}

}  // namespace tessera
