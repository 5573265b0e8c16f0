#include "loss/ohem.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/image.h"

namespace tessera {
namespace {

// (N, H, W): -log of the probability of the label, 0 where ignored.
at::Tensor nll_of(const PixelScores& scores, const at::Tensor& labels) {
  return at::nll_loss2d(scores.log_probs(), labels, {}, at::Reduction::None, kIgnoreLabel);
}

// (N, H, W): the weight of each pixel's class; of an ignored pixel that of class 0.
at::Tensor of_pixels(const at::Tensor& class_weights, const at::Tensor& labels, at::ScalarType type) {
  return class_weights.to(type).index_select(0, labels.clamp_min(0).flatten()).view_as(labels);
}

}  // namespace

OhemTerm::OhemTerm(const OhemConfig& options)
    : options_(options),
      weighted_(options.class_weights.values(), options.mean == OhemMean::kAll ? LossMean::kAll : LossMean::kLabelled) {}

// (N, H, W) booleans: the pixels that count. Those that are as hard as the last one of min_kept count too.
at::Tensor OhemTerm::hard(const at::Tensor& nll, const at::Tensor& labels) const {
  const c10::NoGradGuard no_grad;
  const int64_t pixels = labels.size(1) * labels.size(2);
  const double asked = options_.min_kept < 1 ? options_.min_kept * static_cast<double>(pixels) : options_.min_kept;
  const int64_t kept = std::min<int64_t>(std::llround(asked), pixels);
  const at::Tensor ignored = labels.eq(kIgnoreLabel);
  const at::Tensor p = nll.detach().neg().exp().masked_fill(ignored, std::numeric_limits<double>::infinity());
  at::Tensor counts = p.lt(options_.threshold);
  if (kept > 0) {
    // Of an image with fewer labelled pixels it is infinite: all of those count.
    const at::Tensor last = std::get<0>(p.flatten(1).topk(kept, 1, /*largest=*/false, /*sorted=*/false)).amax(1);
    counts = counts.logical_or(p.le(last.view({-1, 1, 1})));
  }
  return counts.logical_and_(ignored.logical_not());
}

at::Tensor OhemTerm::prediction_sums(const PixelScores& scores) const {
  if (options_.mean != OhemMean::kKept) return {};
  const at::Tensor weights = weighted_.class_weights(scores.labels().device());
  return scores.sum([&](const at::Tensor& labels) {
    const at::Tensor counts = hard(nll_of(scores, labels), labels);
    return weights.defined() ? counts * of_pixels(weights, labels, at::kDouble) : counts;
  });
}

at::Tensor OhemTerm::divisor(const PixelScores& scores, const LossContext& context) const {
  if (options_.mean != OhemMean::kKept) return weighted_.divisor(context);
  at::Tensor kept = context.prediction_sums;
  if (!kept.defined()) {
    TSR_CHECK(scores.labels().numel() == context.pixels,
              "expected the number of hard pixels among all {} pixels of the batch before the OHEM loss of {} of them",
              context.pixels, scores.labels().numel());
    kept = prediction_sums(scores).detach();
  }
  kept = kept.reshape({});
  return kept.masked_fill(kept.eq(0), 1.0);
}

at::Tensor OhemTerm::value(const PixelScores& scores, const LossContext& context) const {
  const at::Tensor weights = weighted_.class_weights(scores.labels().device());
  const at::Tensor sum = scores.sum([&](const at::Tensor& labels) {
    const at::Tensor nll = nll_of(scores, labels), kept = nll * hard(nll, labels);
    return weights.defined() ? kept * of_pixels(weights, labels, kept.scalar_type()) : kept;
  });
  return sum / divisor(scores, context);
}

}  // namespace tessera
