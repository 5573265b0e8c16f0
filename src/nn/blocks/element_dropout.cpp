#include "nn/blocks/element_dropout.h"

#include <torch/types.h>

namespace tessera {

at::Tensor ElementDropoutImpl::forward(const at::Tensor& x) {
  if (!drops() || x.size(0) == 0) return x;
  return x * factors(x, x.numel() / x.size(0), rate_).view(x.sizes());
}

}  // namespace tessera
