#include "loss/cross_entropy.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "core/image.h"
#include "kernels/loss/upsample_loss.h"

namespace tessera {

namespace {

// Weights such as one over a class's count of pixels would leave nothing of half-precision gradients. So all are multiplied by
// two to this power, and so is what the sum is divided by: the largest becomes 1 to 2, and no bit of a result changes.
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

CrossEntropyTerm::CrossEntropyTerm(const std::vector<double>& class_weights, double label_smoothing, LossMean mean)
    : class_weights_(near_one(class_weights)),
      label_smoothing_(label_smoothing),
      weight_scale_(std::ldexp(1.0, exponent_to_one(class_weights))),
      mean_(mean) {}

at::Tensor CrossEntropyTerm::divisor(const LossContext& context, const at::Tensor& class_weights) const {
  if (mean_ == LossMean::kAll) return context.all_pixels() * weight_scale_;
  const at::Tensor weight = class_weights.defined() ? (class_weights * context.sums).sum() : context.sums.sum();
  // Without labelled pixels the sum is 0; dividing by 1 keeps value and gradient 0.
  return weight.masked_fill(weight.eq(0), 1.0);
}

at::Tensor CrossEntropyTerm::value(const PixelScores& scores, const LossContext& context) const {
  const at::Tensor weights = class_weights_.on(context.sums.device());
  const at::Tensor total = divisor(context, weights);
  if (scores.fused_classifier().defined()) {
    CrossEntropyOptions options;
    options.class_weights = weights;
    options.label_smoothing = label_smoothing_;
    return classifier_cross_entropy(scores.fused_classifier(), scores.labels(), options, total.reciprocal());
  }
  return sum(scores, weights) / total;
}

at::Tensor CrossEntropyTerm::sum(const PixelScores& scores, const at::Tensor& class_weights) const {
  if (scores.fused()) {
    CrossEntropyOptions options;
    options.class_weights = class_weights;
    options.label_smoothing = label_smoothing_;
    options.other_labels = scores.targets().other;
    options.mix_weight = scores.targets().mix_weight;
    return upsample_cross_entropy(scores.logits(), scores.labels(), options);
  }
  const at::Tensor& log_probs = scores.log_probs();
  const at::Tensor weights = class_weights.defined() ? class_weights.to(log_probs.scalar_type()) : at::Tensor();
  // Per pixel rather than summed by nll_loss2d: its sums use atomics on a GPU, so the value would change from run to run.
  const at::Tensor at_label = scores.sum(
      [&](const at::Tensor& labels) { return at::nll_loss2d(log_probs, labels, weights, at::Reduction::None, kIgnoreLabel); });
  if (label_smoothing_ == 0) return at_label;
  const at::Tensor weighted = weights.defined() ? log_probs * weights.view({1, -1, 1, 1}) : log_probs;
  const at::Tensor all_classes = weighted.sum(1).neg();
  const at::Tensor spread =
      scores.sum([&](const at::Tensor& labels) { return all_classes.masked_fill(labels.eq(kIgnoreLabel), 0.0); });
  const double even = label_smoothing_ / static_cast<double>(log_probs.size(1));
  return (1 - label_smoothing_) * at_label + even * spread;
}

}  // namespace tessera
