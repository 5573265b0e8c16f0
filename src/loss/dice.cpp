#include "loss/dice.h"

#include <ATen/ATen.h>

#include <limits>

#include "core/error.h"
#include "core/image.h"
#include "kernels/loss/upsample_loss.h"
#include "loss/multi_label.h"

namespace tessera {
namespace {

struct Dice {
  at::Tensor value;         // scalar
  at::Tensor numerator;     // (K) 2 I + s
  at::Tensor denominator;   // (K) T + P + s
  at::Tensor class_weight;  // (K) weight of each class in the mean: 1 / number of present classes, or 0
};

Dice dice_of(const at::Tensor& prediction_sums, const at::Tensor& label_counts, double smooth, int first_class) {
  at::Tensor present = label_counts.gt(0).to(at::kDouble);
  present.narrow(0, 0, first_class).zero_();
  Dice dice;
  dice.class_weight = present / present.sum().clamp_min(1.0);
  dice.numerator = 2 * prediction_sums[0] + smooth;
  dice.denominator = label_counts + prediction_sums[1] + smooth;
  dice.value = (dice.class_weight * (1 - dice.numerator / dice.denominator)).sum();
  return dice;
}

// I and P of labels that are not mixed.
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

at::Tensor DiceTerm::prediction_sums(const PixelScores& scores) const {
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

at::Tensor DiceTerm::value(const PixelScores& scores, const LossContext& context) const {
  const at::Tensor own = prediction_sums(scores);
  if (!context.prediction_sums.defined()) {
    // Not an assert: a trainer that forgets a pass would learn from wrong gradients without a sign.
    TSR_CHECK(scores.labels().numel() == context.pixels,
              "expected the prediction sums of all {} pixels of the batch before the Dice loss of {} of them", context.pixels,
              scores.labels().numel());
    return dice_of(own, context.class_pixels(), smooth_, first_class_).value;
  }
  // The linearisation of Note [Exact over micro-batches]: the gradient at the global sums times this micro-batch's sums.
  const at::Tensor sums = context.prediction_sums.view({2, -1});
  const Dice global = dice_of(sums, context.class_pixels(), smooth_, first_class_);
  const at::Tensor grad_intersection = -2 * global.class_weight / global.denominator;
  const at::Tensor grad_predicted = global.class_weight * global.numerator / global.denominator.square();
  const at::Tensor grad_sums = at::stack({grad_intersection, grad_predicted});
  // A constant makes the values add up to the Dice loss too. It is dealt out by labelled pixels, which add up to 1.
  const at::Tensor constant = global.value - (grad_sums * sums).sum();
  return (grad_sums * own).sum() + constant * (scores.labelled() / context.divisor());
}

}  // namespace tessera
