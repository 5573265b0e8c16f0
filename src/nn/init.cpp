#include <torch/nn.h>

#include <algorithm>
#include <cmath>

#include "nn/draw.h"
#include "nn/model.h"

namespace tessera {

void init_weights(torch::nn::Module& model, uint64_t seed) {
  const at::NoGradGuard no_grad;
  for (auto& item : model.named_parameters()) {
    at::Tensor& value = item.value();
    const bool is_bias = item.key().ends_with("bias");
    if (value.dim() < 2) {
      if (is_bias) value.zero_();
      continue;  // batch-norm scales stay 1
    }
    // The larger fan: a classifier with few outputs would start with huge logits from its fan out alone.
    const auto fan_in = static_cast<double>(value.numel() / value.size(0)),
               fan_out = static_cast<double>(value.numel() / value.size(1));
    value.copy_(draw_normal(seed, item.key(), value.sizes()) * std::sqrt(2.0 / std::max(fan_in, fan_out)));
  }
}

int64_t count_parameters(const torch::nn::Module& model) {
  int64_t total = 0;
  for (const at::Tensor& value : model.parameters()) total += value.numel();
  return total;
}

}  // namespace tessera
