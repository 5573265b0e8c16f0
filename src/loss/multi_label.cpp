#include "loss/multi_label.h"

#include <ATen/ATen.h>

#include <numeric>
#include <utility>

#include "core/image.h"

namespace tessera {
namespace {

at::Tensor ignored_pixels(const at::Tensor& labels) {  // (N, 1, H, W)
  return labels.eq(kIgnoreLabel).unsqueeze(1);
}

}  // namespace

at::Tensor class_targets(const at::Tensor& labels, int64_t num_classes, at::ScalarType type) {
  const at::Tensor bits = at::arange(num_classes, labels.options()).view({1, -1, 1, 1});
  return at::bitwise_and(at::bitwise_right_shift(labels.unsqueeze(1), bits), 1).to(type);
}

at::Tensor class_shares(std::vector<double> weights) {
  if (weights.empty()) return {};
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum > 0 ? sum : 1;
  return at::tensor(weights, at::kDouble);
}

at::Tensor count_class_bits(const Targets& targets, int num_classes) {
  const auto of_images = [&](const at::Tensor& labels, const at::Tensor& weight) {
    const at::Tensor labelled = labels.ne(kIgnoreLabel);
    const auto count = [](const at::Tensor& pixels) { return pixels.flatten(1).sum(1).to(at::kDouble); };  // (N)
    std::vector<at::Tensor> counts;
    // Class by class: all at once would take the memory of the logits at full resolution.
    for (int c = 0; c < num_classes; ++c) counts.push_back(count(labels.bitwise_and(1 << c).ne(0).logical_and_(labelled)));
    counts.push_back(count(labelled));
    const at::Tensor all = at::stack(counts, 1);
    return (weight.defined() ? all * weight.unsqueeze(1) : all).sum(0);
  };
  const at::Tensor first = of_images(targets.labels, targets.mix_weight);
  return targets.mixed() ? first + of_images(targets.other, 1 - targets.mix_weight) : first;
}

at::Tensor sigmoid_nll(const at::Tensor& logits, const at::Tensor& labels, double label_smoothing) {
  at::Tensor targets = class_targets(labels, logits.size(1), logits.scalar_type());
  if (label_smoothing > 0) targets = targets * (1 - label_smoothing) + label_smoothing / 2;
  return at::binary_cross_entropy_with_logits(logits, targets, {}, {}, at::Reduction::None)
      .masked_fill(ignored_pixels(labels), 0.0);
}

at::Tensor sigmoid_sums(const PixelScores& scores) {
  const at::Tensor probs = scores.full_logits().sigmoid();
  const auto labelled = [&](const at::Tensor& labels) { return probs.masked_fill(ignored_pixels(labels), 0.0); };
  const at::Tensor intersection = scores.class_sums(
      [&](const at::Tensor& labels) { return labelled(labels) * class_targets(labels, probs.size(1), probs.scalar_type()); });
  return at::stack({intersection, scores.class_sums(labelled)});
}

SigmoidCrossEntropyTerm::SigmoidCrossEntropyTerm(const std::vector<double>& class_weights, double label_smoothing,
                                                 LossMean mean, PixelWeights pixel_weights)
    : class_weights_(class_shares(class_weights)),
      label_smoothing_(label_smoothing),
      mean_(mean),
      pixel_weights_(std::move(pixel_weights)) {}

at::Tensor SigmoidCrossEntropyTerm::value(const PixelScores& scores, const LossContext& context) const {
  const at::Tensor sums = scores.class_sums([&](const at::Tensor& labels) {
    const at::Tensor nll = sigmoid_nll(scores.full_logits(), labels, label_smoothing_);
    return pixel_weights_ ? nll * pixel_weights_(labels).to(nll.scalar_type()).unsqueeze(1) : nll;
  });
  const at::Tensor weights = class_weights_.on(sums.device());
  const at::Tensor of_classes = weights.defined() ? (weights * sums).sum() : sums.mean();
  return of_classes / (mean_ == LossMean::kAll ? context.all_pixels() : context.divisor());
}

}  // namespace tessera
