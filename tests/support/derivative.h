#pragma once
#include <ATen/ATen.h>

namespace tessera::testing {

struct Derivative {
  at::Tensor value, gradient;
};

// Value and gradient of a function of one tensor. The gradient is that of (value * grad_out).sum(), or without grad_out that of
// the value.
template <class Function>
Derivative differentiate(const at::Tensor& input, Function&& function, const at::Tensor& grad_out = {}) {
  const at::Tensor x = input.detach().requires_grad_();
  const at::Tensor value = function(x);
  value.backward(grad_out);
  return {value.detach(), x.grad()};
}

// Of two tensors of one size and any types.
inline double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.detach().to(at::kDouble) - b.detach().to(at::kDouble)).abs().max().item<double>();
}

}  // namespace tessera::testing
