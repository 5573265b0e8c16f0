#include "nn/init/init_transformer.h"

#include <torch/nn/modules/conv.h>
#include <torch/types.h>

#include <cmath>

#include "nn/init/draw.h"
#include "nn/init/init_layers.h"

namespace tessera {
namespace {

// The references cut this normal distribution at +-2, a hundred deviations out: that never happens.
constexpr double kDeviation = 0.02;

// Tokens, embeddings and projections: parameters that are no layer's.
bool is_free(const std::string& parameter) {
  return parameter != "weight" && parameter != "bias";
}

}  // namespace

void init_transformer(torch::nn::Module& model, uint64_t seed, const std::string& prefix) {
  const at::NoGradGuard no_grad;
  init_layers(model, LayerInit::kNormal02, seed, prefix);
  for (const auto& module : model.named_modules()) {
    const std::string path = prefix + (module.key().empty() ? "" : module.key() + ".");
    if (module.value()->as<torch::nn::Conv2dImpl>() != nullptr) init_layers(*module.value(), LayerInit::kTorch, seed, path);
    for (auto& item : module.value()->named_parameters(/*recurse=*/false)) {
      if (!is_free(item.key())) continue;
      at::Tensor& value = item.value();
      const bool projects = item.key() == "proj_patch" || item.key() == "proj_classes";
      const double deviation = projects ? 1 / std::sqrt(static_cast<double>(value.size(0))) : kDeviation;
      value.copy_(draw_normal(seed, path + item.key(), value.sizes()) * deviation);
    }
  }
}

}  // namespace tessera
