#include "loss/cross_entropy.h"

#include <ATen/ATen.h>

#include "core/image.h"

namespace tessera {

CrossEntropyTerm::CrossEntropyTerm(std::string_view name, const std::vector<double>& class_weights, double label_smoothing)
    : name_(name), label_smoothing_(label_smoothing) {
  if (!class_weights.empty()) class_weights_ = at::tensor(class_weights, at::kDouble);
}

at::Tensor CrossEntropyTerm::value(const PixelScores& scores, const LossContext& context) const {
  at::Tensor weights;       // as the scores, for the pixels
  at::Tensor total_weight;  // of the labelled pixels of the global batch
  if (class_weights_.defined()) {
    weights = class_weights_.to(scores.log_probs.options());
    total_weight = (class_weights_.to(context.sums.device()) * context.sums).sum();
  } else {
    total_weight = context.sums.sum();
  }
  // Without labelled pixels the sums below are 0; dividing by 1 keeps value and gradient 0.
  total_weight = total_weight.masked_fill(total_weight.eq(0), 1.0);

  // Per pixel rather than summed by nll_loss2d: its sums use atomics on a GPU, so the value would change from run to run.
  const at::Tensor nll = at::nll_loss2d(scores.log_probs, scores.labels, weights, at::Reduction::None, kIgnoreLabel);
  at::Tensor sum = sum_images(nll);
  if (label_smoothing_ > 0) {
    const int64_t num_classes = scores.log_probs.size(1);
    const at::Tensor weighted = weights.defined() ? scores.log_probs * weights.view({1, -1, 1, 1}) : scores.log_probs;
    const at::Tensor all_classes = weighted.sum(1).neg().masked_fill(scores.ignored, 0.0);
    sum = (1 - label_smoothing_) * sum + label_smoothing_ / static_cast<double>(num_classes) * sum_images(all_classes);
  }
  return sum / total_weight;
}

}  // namespace tessera
