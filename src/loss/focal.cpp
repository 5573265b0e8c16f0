#include "loss/focal.h"

#include <ATen/ATen.h>

#include "core/image.h"
#include "loss/multi_label.h"

namespace tessera {
namespace {

// Smaller misses of p = 1 count as this one: for gamma < 1 the derivative of (1 - p)^gamma is infinite at p = 1, and infinity
// times the 0 of log p would put NaN into the gradient. Both this and its inverse are ordinary float32 numbers.
constexpr double kSmallestMiss = 1e-30;

}  // namespace

FocalTerm::FocalTerm(double gamma, LossMean mean, bool multi_label, const std::vector<double>& class_weights)
    : gamma_(gamma),
      mean_(mean),
      multi_label_(multi_label),
      weighted_(multi_label ? std::vector<double>() : class_weights, mean),
      class_shares_(class_shares(class_weights)) {}

at::Tensor FocalTerm::focused(const at::Tensor& nll) const {
  // 1 - p by expm1: exact also where p is so near to 1 that the difference would be all rounding.
  const at::Tensor miss = at::expm1(-nll).neg().clamp_min(kSmallestMiss);
  return miss.pow(gamma_) * nll;
}

at::Tensor FocalTerm::value(const PixelScores& scores, const LossContext& context) const {
  if (multi_label_) return multi_label_value(scores, context);
  const at::Tensor weights = weighted_.class_weights(context.sums.device());
  const at::Tensor sum = scores.sum([&](const at::Tensor& labels) {
    const at::Tensor of_pixels = focused(at::nll_loss2d(scores.log_probs(), labels, {}, at::Reduction::None, kIgnoreLabel));
    if (!weights.defined()) return of_pixels;
    return of_pixels * weights.to(of_pixels.scalar_type()).index_select(0, labels.clamp_min(0).flatten()).view_as(labels);
  });
  return sum / weighted_.divisor(context);
}

at::Tensor FocalTerm::multi_label_value(const PixelScores& scores, const LossContext& context) const {
  const auto values = [&](const at::Tensor& labels) { return focused(sigmoid_nll(scores.full_logits(), labels)); };
  const at::Tensor pixels = mean_ == LossMean::kAll ? context.all_pixels() : context.divisor();
  const at::Tensor shares = class_shares_.on(context.sums.device());
  if (shares.defined()) return (shares * scores.class_sums(values)).sum() / pixels;
  return scores.sum(values) / (pixels * scores.logits().size(1));
}

}  // namespace tessera
