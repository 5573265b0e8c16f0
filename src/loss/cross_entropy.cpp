#include "loss/cross_entropy.h"

#include <ATen/ATen.h>

#include <utility>

#include "core/image.h"
#include "kernels/loss/upsample_loss.h"

namespace tessera {

CrossEntropyTerm::CrossEntropyTerm(const std::vector<double>& class_weights, double label_smoothing, LossMean mean,
                                   PixelWeights pixel_weights)
    : mean_(class_weights, mean), label_smoothing_(label_smoothing), pixel_weights_(std::move(pixel_weights)) {}

at::Tensor CrossEntropyTerm::value(const PixelScores& scores, const LossContext& context) const {
  const at::Tensor weights = mean_.class_weights(context.sums.device());
  const at::Tensor total = mean_.divisor(context);
  if (scores.fused_classifier().defined()) {
    CrossEntropyOptions options;
    options.class_weights = weights;
    options.label_smoothing = label_smoothing_;
    return classifier_cross_entropy(scores.fused_classifier(), scores.labels(), options, total.reciprocal());
  }
  return sum(scores, weights) / total;
}

at::Tensor CrossEntropyTerm::weighted(const at::Tensor& values, const at::Tensor& labels) const {
  return pixel_weights_ ? values * pixel_weights_(labels).to(values.scalar_type()) : values;
}

at::Tensor CrossEntropyTerm::sum(const PixelScores& scores, const at::Tensor& class_weights) const {
  if (scores.fused() && !pixel_weights_) {
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
  const at::Tensor at_label = scores.sum([&](const at::Tensor& labels) {
    return weighted(at::nll_loss2d(log_probs, labels, weights, at::Reduction::None, kIgnoreLabel), labels);
  });
  if (label_smoothing_ == 0) return at_label;
  const at::Tensor by_class = weights.defined() ? log_probs * weights.view({1, -1, 1, 1}) : log_probs;
  const at::Tensor all_classes = by_class.sum(1).neg();
  const at::Tensor spread = scores.sum(
      [&](const at::Tensor& labels) { return weighted(all_classes.masked_fill(labels.eq(kIgnoreLabel), 0.0), labels); });
  const double even = label_smoothing_ / static_cast<double>(log_probs.size(1));
  return (1 - label_smoothing_) * at_label + even * spread;
}

}  // namespace tessera
