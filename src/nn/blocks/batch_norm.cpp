#include "nn/blocks/batch_norm.h"

#include <torch/types.h>

#include "tensor/step_context.h"

namespace tessera {

BatchNorm2dImpl::BatchNorm2dImpl(int64_t channels, double eps, double momentum) : eps_(eps), momentum_(momentum) {
  weight = register_parameter("weight", torch::ones({channels}));
  bias = register_parameter("bias", torch::zeros({channels}));
  running_mean = register_buffer("running_mean", torch::zeros({channels}));
  running_var = register_buffer("running_var", torch::ones({channels}));
}

at::Tensor BatchNorm2dImpl::forward(const at::Tensor& x) {
  const auto normalise = [&](const at::Tensor& part) {
    return at::batch_norm(part, weight, bias, running_mean, running_var, is_training(), momentum_, eps_,
                          /*cudnn_enabled=*/true);
  };
  const int64_t unit = step_context().norm_group;
  if (!is_training() || unit <= 0 || x.size(0) <= unit) return normalise(x);
  std::vector<at::Tensor> parts;
  for (const at::Tensor& part : x.split(unit)) parts.push_back(normalise(part));
  return at::cat(parts);
}

}  // namespace tessera
