#pragma once
#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tensor/step_context.h"

namespace tessera::testing {

// The other side of tests/interop/model_fixture.py: the same weights, inputs and order of events.

inline at::Tensor pattern(int64_t count, int64_t k) {
  const at::Tensor i = at::arange(count, at::kLong);
  return at::remainder(i * 2654435761 + k * 40503, 2003).to(at::kDouble) / 2003 - 0.5;
}

inline std::map<std::string, at::Tensor> sorted(const torch::OrderedDict<std::string, at::Tensor>& named) {
  std::map<std::string, at::Tensor> result;
  for (const auto& item : named) result.emplace(item.key(), item.value());
  return result;
}

inline void fill_by_pattern(torch::nn::Module& model) {
  const at::NoGradGuard no_grad;
  int64_t k = 0;
  for (auto& [name, value] : sorted(model.named_parameters())) {
    at::Tensor filled = pattern(value.numel(), k++).view(value.sizes());
    if (value.dim() > 1) {
      filled = filled * std::sqrt(24.0 / static_cast<double>(value.numel() / value.size(0)));
    } else {
      filled = 0.5 * filled + (name.ends_with("weight") ? 1 : 0);
    }
    value.copy_(filled);
  }
}

inline at::Tensor pattern_input(const nlohmann::json& size, int64_t channels, int64_t shift) {
  const int64_t height = size[0], width = size[1];
  const at::Tensor i = at::arange(2 * channels * height * width, at::kLong);
  const at::Tensor mixed = at::remainder(i * 7919 + i.div(97, "floor") * 31 + 13 + 101 * shift, 1009);
  return (mixed.to(at::kDouble) / 1009 - 0.5).view({2, channels, height, width}) * 4;
}

inline void expect_sampled(const at::Tensor& x, const nlohmann::json& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(x.sizes().vec(), expected["shape"].get<std::vector<int64_t>>()) << what;
  const at::Tensor flat = x.detach().to(at::kDouble).flatten();
  const double norm = expected["norm"], scale = std::max(1.0, norm / std::sqrt(static_cast<double>(flat.numel())));
  EXPECT_NEAR(flat.norm().item<double>(), norm, tolerance * std::max(1.0, norm)) << what;
  const auto values = expected["values"].get<std::vector<double>>();
  const int64_t count = static_cast<int64_t>(values.size());
  for (int64_t n = 0; n < count; ++n) {
    const int64_t place = (2 * n + 1) * flat.numel() / (2 * count);
    EXPECT_NEAR(flat[place].item<double>(), values[n], tolerance * scale) << what << " at " << place;
  }
}

// [norm, value in the middle] of each tensor, by sorted name. Values are compared on the scale of the largest tensor: some
// gradients are nothing but cancellation (what stands before a batch norm over two values, for one).
inline void expect_brief(const std::map<std::string, at::Tensor>& tensors, const nlohmann::json& expected, double tolerance) {
  ASSERT_EQ(tensors.size(), expected.size());
  double largest = 0;
  for (const auto& entry : expected) largest = std::max(largest, entry[0].get<double>());
  size_t k = 0;
  for (const auto& [name, value] : tensors) {
    const at::Tensor flat = value.detach().flatten();
    const double norm = expected[k][0], middle = expected[k][1];
    const double allowed = tolerance * std::max(norm, 1e-2 * largest);
    EXPECT_NEAR(flat.norm().item<double>(), norm, allowed) << name;
    EXPECT_NEAR(flat[flat.numel() / 2].item<double>(), middle, allowed) << name;
    ++k;
  }
}

// Logits and, in training, auxiliary logits.
using RunModel = std::function<std::vector<at::Tensor>(const at::Tensor&)>;

// Holds the model to a case of a fixture: names, count, training pass, gradients, statistics, evaluation in float64 and
// float32.
inline void expect_parity(const nlohmann::json& expected, torch::nn::Module& model, const RunModel& run) {
  model.to(at::kDouble);
  fill_by_pattern(model);
  const auto parameters = sorted(model.named_parameters());
  std::vector<std::string> names;
  int64_t count = 0;
  for (const auto& [name, value] : parameters) {
    names.push_back(name);
    count += value.numel();
  }
  ASSERT_EQ(names, expected["names"].get<std::vector<std::string>>());
  ASSERT_EQ(count, expected["parameters"].get<int64_t>());

  const int64_t channels = expected["channels"];
  model.train();
  for (int64_t n = 0; n < 3; ++n) {
    const std::vector<at::Tensor> outputs = run(pattern_input(expected["sizes"][0], channels, n));
    if (n > 0) continue;
    ASSERT_EQ(outputs.size(), expected["train"].size());
    at::Tensor total = at::zeros({}, at::kDouble);
    for (size_t i = 0; i < outputs.size(); ++i) {
      expect_sampled(outputs[i], expected["train"][i], 1e-10, "training output " + std::to_string(i));
      total = total + (outputs[i].flatten() * pattern(outputs[i].numel(), 77 + static_cast<int64_t>(i))).sum();
    }
    total.backward();
    std::map<std::string, at::Tensor> gradients;
    for (const auto& [name, value] : parameters) gradients.emplace(name, value.grad());
    // Up to 50 layers raise the rounding errors of sums, which go in another order than the fixture's, a million times.
    expect_brief(gradients, expected["gradients"], 1e-9);
  }
  expect_brief(sorted(model.named_buffers()), expected["buffers"], 1e-10);

  model.eval();
  const at::NoGradGuard no_grad;
  for (const auto& [type, tolerance] : {std::pair{at::kDouble, 1e-10}, std::pair{at::kFloat, 1e-4}}) {
    model.to(type);
    for (size_t i = 0; i < expected["sizes"].size(); ++i) {
      const at::Tensor x = pattern_input(expected["sizes"][i], channels, 5).to(type);
      expect_sampled(run(x)[0], expected["eval"][i], tolerance, "evaluation at size " + std::to_string(i));
    }
  }
}

}  // namespace tessera::testing
