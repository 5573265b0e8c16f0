#include "loss/weighted_mean.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

int exponent_to_one(const std::vector<double>& weights) {
  const double largest = weights.empty() ? 0 : *std::max_element(weights.begin(), weights.end());
  return largest > 0 && std::isfinite(largest) ? -std::ilogb(largest) : 0;
}

at::Tensor near_one(std::vector<double> weights) {
  if (weights.empty()) return {};
  const int exponent = exponent_to_one(weights);
  for (double& weight : weights) weight = std::ldexp(weight, exponent);
  return at::tensor(weights, at::kDouble);
}

}  // namespace

WeightedMean::WeightedMean(const std::vector<double>& class_weights, LossMean mean)
    : class_weights_(near_one(class_weights)), scale_(std::ldexp(1.0, exponent_to_one(class_weights))), mean_(mean) {}

at::Tensor WeightedMean::divisor(const LossContext& context) const {
  if (mean_ == LossMean::kAll) return context.all_pixels() * scale_;
  const at::Tensor weights = class_weights(context.sums.device());
  const at::Tensor total = weights.defined() ? (weights * context.sums).sum() : context.sums.sum();
  return total.masked_fill(total.eq(0), 1.0);
}

}  // namespace tessera
