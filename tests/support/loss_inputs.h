#pragma once
#include <ATen/ATen.h>

#include <nlohmann/json.hpp>

#include "config/experiment.h"
#include "config/loss_config.h"

// Inputs of tests/interop/make_torch_losses.py, made from the same integers.
namespace tessera::testing {

// (4, channels, 3, 4). distinct: no two are equal, for losses in which the order of pixels decides.
inline at::Tensor loss_logits(int64_t channels, at::ScalarType dtype, bool distinct = false) {
  const at::Tensor i = at::arange(4 * channels * 3 * 4, at::kLong);
  if (distinct) return (at::sin(i.to(at::kDouble) * 12.9898) * 2.5).view({4, channels, 3, 4}).to(dtype);
  return (((i * 7919 + 13) % 101 - 50).to(at::kDouble) / 20).view({4, channels, 3, 4}).to(dtype);
}

// (4, 6, 7). Class `num_classes - 1` is absent (of more than 2); image n is ignored in about n quarters of its pixels.
inline at::Tensor loss_labels(int64_t num_classes) {
  const at::Tensor i = at::arange(4 * 6 * 7, at::kLong);
  const at::Tensor image = i.floor_divide(6 * 7);
  const at::Tensor labels = (i * 31 + i.floor_divide(5)) % std::max<int64_t>(num_classes - 1, 2);
  return labels.masked_fill(((i * 17 + 3) % 4).lt(image), -1).view({4, 6, 7}).to(at::kShort);
}

// The fixture says its losses by loss.terms, or by Note [Older loss keys].
inline LossConfig loss_config(const nlohmann::json& values) {
  if (values.contains("terms")) return load_experiment("", {"loss.terms=" + values.at("terms").get<std::string>()}).loss;
  LossAliases keys;
  const auto& names = EnumNames<LossType>::names;
  const auto found = std::find(names.begin(), names.end(), values.at("type").get<std::string>());
  keys.type = static_cast<LossType>(found - names.begin());
  if (values.value("mean", std::string("labelled")) == "all") keys.mean = LossMean::kAll;
  keys.ce_weight = values.value("ce_weight", keys.ce_weight);
  keys.dice_weight = values.value("dice_weight", keys.dice_weight);
  keys.class_weights = values.value("class_weights", std::vector<double>());
  keys.label_smoothing = values.value("label_smoothing", keys.label_smoothing);
  keys.focal_gamma = values.value("focal_gamma", keys.focal_gamma);
  keys.dice_smooth = values.value("dice_smooth", keys.dice_smooth);
  LossConfig config;
  config.terms = terms_of(keys);
  return config;
}

}  // namespace tessera::testing
