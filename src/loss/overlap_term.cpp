#include "loss/overlap_term.h"

#include <ATen/ATen.h>

#include <limits>

#include "core/error.h"
#include "core/image.h"
#include "kernels/loss/upsample_loss.h"
#include "loss/multi_label.h"

namespace tessera {
namespace {

// The sums of labels that are not mixed.
at::Tensor plain_sums(const PixelScores& scores) {
  if (scores.fused()) return upsample_softmax_sums(scores.logits(), scores.labels());
  constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
  const at::Tensor& log_probs = scores.log_probs();
  const at::Tensor ignored = scores.labels().eq(kIgnoreLabel);
  // Ignored pixels get probability 0 before exp, not after: one tensor of this size less to keep for the backward pass.
  const at::Tensor probs = log_probs.masked_fill(ignored.unsqueeze(1), kMinusInfinity).exp();
  const at::Tensor label = scores.labels().to(at::kLong).masked_fill(ignored, 0);
  const at::Tensor of_label = probs.gather(1, label.unsqueeze(1)).flatten().to(at::kDouble);
  const at::Tensor intersection = at::zeros({log_probs.size(1)}, of_label.options()).index_add(0, label.flatten(), of_label);
  return at::stack({intersection, probs.sum({2, 3}).to(at::kDouble).sum(0)});
}

}  // namespace

at::Tensor OverlapTerm::prediction_sums(const PixelScores& scores) const {
  if (multi_label_) return sigmoid_sums(scores);
  const Targets& targets = scores.targets();
  if (!targets.mixed()) return plain_sums(scores);
  // A sum over several images has no place for their weights, so it goes image by image.
  at::Tensor total;
  for (int64_t i = 0; i < scores.logits().size(0); ++i) {
    const Targets own = targets.narrow(i, 1);
    const at::Tensor logits = scores.logits().narrow(0, i, 1);
    const at::Tensor sums = own.mix_weight * plain_sums(PixelScores(logits, own.labels)) +
                            (1 - own.mix_weight) * plain_sums(PixelScores(logits, own.other));
    total = total.defined() ? total + sums : sums;
  }
  return total;
}

OverlapLoss OverlapTerm::loss_at(const at::Tensor& prediction_sums, const at::Tensor& label_counts) const {
  at::Tensor present = label_counts.gt(0).to(at::kDouble);
  present.narrow(0, 0, first_class_).zero_();
  return loss_of({prediction_sums[0], prediction_sums[1], label_counts}, present / present.sum().clamp_min(1.0));
}

at::Tensor OverlapTerm::value(const PixelScores& scores, const LossContext& context) const {
  const at::Tensor own = prediction_sums(scores);
  if (!context.prediction_sums.defined()) {
    // Not an assert: a trainer that forgets a pass would learn from wrong gradients without a sign.
    TSR_CHECK(scores.labels().numel() == context.pixels,
              "expected the prediction sums of all {} pixels of the batch before the overlap loss of {} of them",
              context.pixels, scores.labels().numel());
    return loss_at(own, context.class_pixels()).value;
  }
  // The linearisation of Note [Exact over micro-batches]: the gradient at the global sums times this micro-batch's sums.
  const at::Tensor sums = context.prediction_sums.view({2, -1});
  const OverlapLoss global = loss_at(sums, context.class_pixels());
  const at::Tensor grad_sums = at::stack({global.by_intersection, global.by_predicted});
  // A constant makes the values add up to the loss of the global batch too. It is dealt out by labelled pixels, which add up
  // to 1.
  const at::Tensor constant = global.value - (grad_sums * sums).sum();
  return (grad_sums * own).sum() + constant * (scores.labelled() / context.divisor());
}

}  // namespace tessera
