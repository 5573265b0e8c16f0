#include <ATen/CPUGeneratorImpl.h>
#include <torch/nn.h>

#include <cmath>
#include <functional>

#include "core/rng.h"
#include "nn/model.h"

namespace tessera {
namespace {

// FNV-1a: a stable number for a name, on every platform and library.
uint64_t hash_name(const std::string& name) {
  uint64_t hash = 1469598103934665603ULL;
  for (const unsigned char c : name) hash = (hash ^ c) * 1099511628211ULL;
  return hash;
}

}  // namespace

void init_weights(torch::nn::Module& model, uint64_t seed) {
  const at::NoGradGuard no_grad;
  for (auto& item : model.named_parameters()) {
    at::Tensor& value = item.value();
    const bool is_bias = item.key().ends_with("bias");
    if (value.dim() < 2) {
      if (is_bias) value.zero_();
      continue;  // batch-norm scales stay 1
    }
    Rng word(seed, Stream::kInit, hash_name(item.key()));
    at::Generator generator = at::make_generator<at::CPUGeneratorImpl>((uint64_t{word.bits()} << 32) | word.bits());
    const double fan_out = static_cast<double>(value.numel()) / static_cast<double>(value.size(1));
    value.copy_(at::randn(value.sizes(), generator, at::TensorOptions(at::kFloat)) * std::sqrt(2.0 / fan_out));
  }
}

int64_t count_parameters(const torch::nn::Module& model) {
  int64_t total = 0;
  for (const at::Tensor& value : model.parameters()) total += value.numel();
  return total;
}

}  // namespace tessera
