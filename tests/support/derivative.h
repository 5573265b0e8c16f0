#pragma once
#include <ATen/ATen.h>

namespace tessera::testing {

struct Derivative {
  at::Tensor value, gradient;
};

// Of a function of one tensor: the gradient is that of (value * slope).sum(), or without a slope of the value.
template <class Function>
Derivative differentiate(const at::Tensor& input, Function&& function, const at::Tensor& slope = {}) {
  const at::Tensor x = input.detach().requires_grad_();
  const at::Tensor value = function(x);
  value.backward(slope);
  return {value.detach(), x.grad()};
}

// Of two tensors of one size and any types.
inline double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.detach().to(at::kDouble) - b.detach().to(at::kDouble)).abs().max().item<double>();
}

}  // namespace tessera::testing
