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

at::Tensor FocalTerm::value(const PixelScores& scores, const LossContext& context) const {
  const at::Tensor sum = scores.sum([&](const at::Tensor& labels) {
    const at::Tensor nll = multi_label_ ? sigmoid_nll(scores.full_logits(), labels)
                                        : at::nll_loss2d(scores.log_probs(), labels, {}, at::Reduction::None, kIgnoreLabel);
    // 1 - p by expm1: exact also where p is so near to 1 that the difference would be all rounding.
    const at::Tensor miss = at::expm1(-nll).neg().clamp_min(kSmallestMiss);
    return miss.pow(gamma_) * nll;
  });
  const at::Tensor pixels = mean_ == LossMean::kAll ? context.all_pixels() : context.divisor();
  return sum / (multi_label_ ? pixels * scores.logits().size(1) : pixels);
}

}  // namespace tessera
