#pragma once
#include <ATen/ATen.h>

#include "kernels/common/fused.h"
#include "kernels/tokens/bias_gradient.h"

namespace tessera {

// x weight' + bias. at::linear adds the bias inside the product; torch::nn::Linear does not for inputs of three dimensions.
// Where the kernels are ours, the bias gets its gradient from them; without gradients it goes to the product as the parameter
// it is, of which autocast keeps its cast.
inline at::Tensor linear_with_bias(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  if (!use_fused_transformer(x) || !at::GradMode::is_enabled()) return at::linear(x, weight, bias);
  return with_bias_gradient(at::linear(x, weight, bias.detach()), bias);
}

}  // namespace tessera
