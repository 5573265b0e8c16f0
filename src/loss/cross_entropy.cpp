#include "loss/cross_entropy.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "core/image.h"
#include "kernels/upsample_loss.h"

namespace tessera {

namespace {

// The loss is divided by the weight of all pixels, so only the ratios of class weights matter. Weights such as one over a
// class's count of pixels would leave nothing of half-precision gradients: the largest becomes 1 to 2. By a power of two, which
// changes no bit of a result.
std::vector<double> near_one(std::vector<double> weights) {
  const double largest = weights.empty() ? 0 : *std::max_element(weights.begin(), weights.end());
  if (largest > 0 && std::isfinite(largest)) {
    for (double& weight : weights) weight = std::ldexp(weight, -std::ilogb(largest));
  }
  return weights;
}

}  // namespace

CrossEntropyTerm::CrossEntropyTerm(std::string_view name, const std::vector<double>& class_weights, double label_smoothing)
    : name_(name),
      class_weights_(class_weights.empty() ? at::Tensor() : at::tensor(near_one(class_weights), at::kDouble)),
      label_smoothing_(label_smoothing) {}

at::Tensor CrossEntropyTerm::value(const PixelScores& scores, const LossContext& context) const {
  // Weight of the labelled pixels of the global batch.
  const at::Tensor& counts = context.sums;
  const at::Tensor weights = class_weights_.on(counts.device());
  at::Tensor total_weight = weights.defined() ? (weights * counts).sum() : counts.sum();
  // Without labelled pixels the sum is 0; dividing by 1 keeps value and gradient 0.
  total_weight = total_weight.masked_fill(total_weight.eq(0), 1.0);
  if (scores.classifier().defined()) {
    CrossEntropyOptions options;
    options.class_weights = weights;
    options.label_smoothing = label_smoothing_;
    return classifier_cross_entropy(scores.classifier(), scores.labels(), options, total_weight.reciprocal());
  }
  return sum(scores, weights) / total_weight;
}

at::Tensor CrossEntropyTerm::sum(const PixelScores& scores, const at::Tensor& class_weights) const {
  if (scores.fused()) {
    CrossEntropyOptions options;
    options.class_weights = class_weights;
    options.label_smoothing = label_smoothing_;
    options.other_labels = scores.targets().other;
    options.share = scores.targets().share;
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
  const double share = label_smoothing_ / static_cast<double>(log_probs.size(1));
  return (1 - label_smoothing_) * at_label + share * spread;
}

}  // namespace tessera
