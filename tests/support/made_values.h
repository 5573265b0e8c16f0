#pragma once
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

// Weights and inputs that tests and the Python references make from the same integers: the formulas of
// tests/interop/make_vit.py.
namespace tessera::testing {

inline at::Tensor made(at::IntArrayRef shape, int64_t index, double scale, at::ScalarType type = at::kDouble) {
  const at::Tensor i = at::arange(c10::multiply_integers(shape), at::kLong);
  const at::Tensor unit = ((i * 2654435761 + index * 40503) % 2003).to(at::kDouble) / 2003 - 0.5;
  return (unit * scale).view(shape).to(type);
}

inline std::map<std::string, at::Tensor> sorted_parameters(const torch::nn::Module& model) {
  std::map<std::string, at::Tensor> sorted;
  for (const auto& item : model.named_parameters()) sorted[item.key()] = item.value();
  return sorted;
}

// Parameters in order of their names; norms lie around 1.
inline void fill_made(torch::nn::Module& model) {
  const at::NoGradGuard no_grad;
  int64_t index = 0;
  for (auto& [name, value] : sorted_parameters(model)) {
    const double one = value.dim() == 1 && name.ends_with("weight") ? 1.0 : 0.0;
    value.copy_(made(value.sizes(), index++, 0.5) + one);
  }
}

// `picked` of the script: shape, norm, and values spread evenly. Tolerance relative to the norm where that is above 1.
inline void expect_picked(const at::Tensor& tensor, const nlohmann::json& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(tensor.sizes().vec(), expected.at("shape").get<std::vector<int64_t>>()) << what;
  const at::Tensor flat = tensor.detach().to(at::kDouble).contiguous().flatten();
  const auto norm = expected.at("norm").get<double>();
  const auto values = expected.at("values").get<std::vector<double>>();
  const double allowed = tolerance * std::max(1.0, norm);
  EXPECT_NEAR(flat.norm().item<double>(), norm, allowed) << what;
  const auto count = static_cast<int64_t>(values.size());
  for (int64_t i = 0; i < count; ++i) {
    EXPECT_NEAR(flat[i * flat.numel() / count].item<double>(), values[i], allowed) << what << " at " << i;
  }
}

// Gradients of the sum of `output` weighted as the script does, for every parameter.
inline void expect_gradients(torch::nn::Module& model, const at::Tensor& output, const nlohmann::json& expected,
                             double tolerance) {
  model.zero_grad();
  (output * made(output.sizes(), 3, 2.0, output.scalar_type())).sum().backward();
  const auto parameters = sorted_parameters(model);
  ASSERT_EQ(parameters.size(), expected.size());
  for (const auto& [name, value] : parameters) expect_picked(value.grad(), expected.at(name), tolerance, name);
}

}  // namespace tessera::testing
