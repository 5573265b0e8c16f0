#include "nn/init/init_layers.h"

#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>

#include "nn/init/draw.h"

namespace tessera {
namespace {

struct LayerWeights {
  at::Tensor weight, bias;  // undefined: not a layer that is drawn; a layer without a bias
  bool transposed = false;
};

LayerWeights weights_of(torch::nn::Module& module) {
  if (const auto* conv = module.as<torch::nn::Conv2dImpl>()) return {conv->weight, conv->bias};
  if (const auto* conv = module.as<torch::nn::ConvTranspose2dImpl>()) return {conv->weight, conv->bias, /*transposed=*/true};
  if (const auto* linear = module.as<torch::nn::LinearImpl>()) return {linear->weight, linear->bias};
  return {};
}

void init_layer(LayerWeights& layer, LayerInit how, uint64_t seed, const std::string& name) {
  at::Tensor& weight = layer.weight;
  const std::string weight_name = name + "weight", bias_name = name + "bias";
  const auto fan_in = static_cast<double>(weight.numel() / weight.size(0)),
             fan_out = static_cast<double>(weight.numel() / weight.size(1));
  const auto normal = [&](double deviation) { weight.copy_(draw_normal(seed, weight_name, weight.sizes()) * deviation); };
  const auto uniform = [&](double half) { weight.copy_(draw_uniform(seed, weight_name, weight.sizes(), half)); };
  if (layer.bias.defined()) layer.bias.zero_();
  switch (how) {
    case LayerInit::kTorch:
      uniform(1 / std::sqrt(fan_in));
      if (layer.bias.defined()) layer.bias.copy_(draw_uniform(seed, bias_name, layer.bias.sizes(), 1 / std::sqrt(fan_in)));
      break;
    case LayerInit::kKaimingFanOut: normal(std::sqrt(2 / fan_out)); break;
    case LayerInit::kKaimingUniform: uniform(std::sqrt(6 / fan_in)); break;
    case LayerInit::kNormal01: normal(0.01); break;
    case LayerInit::kNormal02: normal(0.02); break;
    case LayerInit::kHe: normal(std::sqrt(2 / std::max(fan_in, fan_out))); break;
    case LayerInit::kLecun:
      // Flax counts the inputs of a transposed convolution as such; torch's fan in is its outputs.
      weight.copy_(draw_truncated(seed, weight_name, weight.sizes()) / std::sqrt(layer.transposed ? fan_out : fan_in));
      break;
    case LayerInit::kGlorot: uniform(std::sqrt(6 / (fan_in + fan_out))); break;
  }
}

}  // namespace

void init_layers(torch::nn::Module& root, LayerInit how, uint64_t seed, const std::string& prefix) {
  const at::NoGradGuard no_grad;
  for (const auto& module : root.named_modules()) {
    LayerWeights layer = weights_of(*module.value());
    if (layer.weight.defined()) init_layer(layer, how, seed, prefix + (module.key().empty() ? "" : module.key() + "."));
  }
}

}  // namespace tessera
