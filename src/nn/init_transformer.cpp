#include "nn/init_transformer.h"

#include <torch/nn.h>
#include <torch/types.h>

#include <cmath>

#include "nn/draw.h"

namespace tessera {
namespace {

// The references cut this normal distribution at +-2, a hundred deviations out: that never happens.
constexpr double kDeviation = 0.02;

void init_parameter(torch::nn::Module& owner, const std::string& local, const std::string& name, at::Tensor& value,
                    uint64_t seed) {
  if (auto* conv = owner.as<torch::nn::Conv2dImpl>()) {
    const double fan_in = static_cast<double>(conv->weight.numel()) / static_cast<double>(conv->weight.size(0));
    value.copy_(draw_uniform(seed, name, value.sizes(), 1.0 / std::sqrt(fan_in)));
  } else if (value.dim() == 1) {
    value.fill_(local == "bias" ? 0.0 : 1.0);
  } else if (local == "proj_patch" || local == "proj_classes") {
    value.copy_(draw_normal(seed, name, value.sizes()) / std::sqrt(static_cast<double>(value.size(0))));
  } else {
    value.copy_(draw_normal(seed, name, value.sizes()) * kDeviation);
  }
}

}  // namespace

void init_transformer(torch::nn::Module& model, uint64_t seed, const std::string& prefix) {
  const at::NoGradGuard no_grad;
  for (const auto& module : model.named_modules()) {
    for (auto& item : module.value()->named_parameters(/*recurse=*/false)) {
      const std::string name = prefix + (module.key().empty() ? "" : module.key() + ".") + item.key();
      init_parameter(*module.value(), item.key(), name, item.value(), seed);
    }
  }
}

}  // namespace tessera
