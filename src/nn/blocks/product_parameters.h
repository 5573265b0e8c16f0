#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

namespace tessera {

// A module with parameters that, like the weights of linear layers, nothing but matrix products reads.
class ProductParameters {
 public:
  virtual ~ProductParameters() = default;
  virtual std::vector<at::Tensor> product_parameters() const = 0;
};

}  // namespace tessera
