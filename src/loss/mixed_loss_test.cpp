// Losses of samples that MixUp blended: two labels for each pixel.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "core/image.h"
#include "loss/loss.h"
#include "support/derivative.h"
#include "support/loss_inputs.h"

namespace tessera {
namespace {

using testing::largest_difference;
using testing::loss_labels;
using testing::loss_logits;

constexpr double kTolerance = 1e-12;  // float64 sums in another order

struct Case {
  const char* name;
  LossConfig config;
  int num_classes;

  at::Tensor logits() const { return loss_logits(logit_channels(config, num_classes), at::kDouble); }
  // The second labels are those of the next sample: ignored pixels meet labelled ones.
  Targets targets() const {
    const at::Tensor labels = loss_labels(num_classes);
    return {labels, labels.roll(1, 0), at::tensor({1.0, 0.75, 0.5, 0.9}, at::kDouble)};
  }
};

LossConfig of_type(LossType type) {
  LossConfig config;
  config.type = type;
  return config;
}

std::vector<Case> cases() {
  LossConfig weighted = of_type(LossType::kCe), both = of_type(LossType::kCeDice), binary = of_type(LossType::kBce);
  weighted.class_weights = {1, 2, 0.5, 3, 1.5};
  weighted.label_smoothing = binary.label_smoothing = 0.1;
  both.ce_weight = 0.4;
  both.dice_weight = 1.1;
  return {{"ce", of_type(LossType::kCe), 5},           {"weighted ce", weighted, 5},
          {"dice", of_type(LossType::kDice), 5},       {"ce_dice", both, 5},
          {"focal", of_type(LossType::kFocal), 5},     {"bce", binary, 2},
          {"bce_dice", of_type(LossType::kBceDice), 2}};
}

struct Result {
  double value = 0;
  at::Tensor gradient;
};

// One step as in Note [Exact over micro-batches].
Result run_step(const Loss& loss, const at::Tensor& logits, const Targets& targets, int64_t micro_batch) {
  const at::Tensor input = logits.detach().clone().requires_grad_();
  LossContext context = loss.prepare(targets);
  const int64_t n = logits.size(0);
  if (loss.needs_prediction_sums() && micro_batch < n) {
    for (int64_t i = 0; i < n; i += micro_batch)
      context.add_predictions(loss.prediction_sums(input.narrow(0, i, micro_batch), targets.narrow(i, micro_batch)));
  }
  Result result;
  for (int64_t i = 0; i < n; i += micro_batch) {
    const at::Tensor value = loss.micro_loss(input.narrow(0, i, micro_batch), targets.narrow(i, micro_batch), context).value;
    value.backward();
    result.value += value.item<double>();
  }
  result.gradient = input.grad();
  return result;
}

// (N, K, H, W): one-hot vectors, zero where ignored.
at::Tensor one_hot(const at::Tensor& labels, int num_classes) {
  const at::Tensor index = labels.to(at::kLong);
  return at::one_hot(index.clamp_min(0), num_classes).permute({0, 3, 1, 2}).to(at::kDouble) *
         index.ne(kIgnoreLabel).unsqueeze(1);
}

// From vectors of targets, everything stored.
Result plain(const Case& c) {
  const LossConfig& o = c.config;
  const Targets targets = c.targets();
  const at::Tensor input = c.logits().requires_grad_(), share = targets.share.view({-1, 1, 1, 1});
  const at::Tensor full = at::upsample_bilinear2d(input, targets.labels.sizes().slice(1), false);
  const at::Tensor both = full.size(1) == 1 ? at::cat({at::zeros_like(full), full}, 1) : full;
  const at::Tensor log_p = at::log_softmax(both, 1), p = log_p.exp();
  const at::Tensor target =
      share * one_hot(targets.labels, c.num_classes) + (1 - share) * one_hot(targets.other, c.num_classes);
  const at::Tensor labelled = target.sum(1, /*keepdim=*/true);
  const at::Tensor weights = o.class_weights.empty() ? at::ones({1, 1, 1, 1}, at::kDouble)
                                                     : at::tensor(o.class_weights, at::kDouble).view({1, -1, 1, 1});
  at::Tensor value = at::zeros({}, at::kDouble);
  const bool combined = o.type == LossType::kCeDice || o.type == LossType::kBceDice;
  if (o.type == LossType::kFocal) {
    value = value + (target * (1 - p).pow(o.focal_gamma) * -log_p).sum() / target.sum();
  } else if (o.type != LossType::kDice) {
    const at::Tensor smooth =
        (1 - o.label_smoothing) * target + o.label_smoothing / static_cast<double>(c.num_classes) * labelled;
    value = value + (combined ? o.ce_weight : 1) * (smooth * weights * -log_p).sum() / (target * weights).sum();
  }
  if (combined || o.type == LossType::kDice) {
    const at::Tensor truth = target.sum({0, 2, 3}), match = (p * target).sum({0, 2, 3}),
                     predicted = (p * labelled).sum({0, 2, 3});
    at::Tensor dice = 1 - (2 * match + o.dice_smooth) / (truth + predicted + o.dice_smooth);
    dice = c.num_classes == 2 && o.type == LossType::kBceDice ? dice[1] : dice.masked_select(truth.gt(0)).mean();
    value = value + (combined ? o.dice_weight : 1) * dice;
  }
  value.backward();
  return {value.item<double>(), input.grad()};
}

TEST(MixedLoss, IsThatOfVectorsOfTargetsOverAnyMicroBatches) {
  for (const Case& c : cases()) {
    const auto loss = make_loss(c.config, c.num_classes);
    const Result expected = plain(c);
    for (const int64_t micro_batch : {1, 2, 4}) {
      const Result result = run_step(*loss, c.logits(), c.targets(), micro_batch);
      EXPECT_NEAR(result.value, expected.value, kTolerance) << c.name << ", " << micro_batch;
      EXPECT_LT(largest_difference(result.gradient, expected.gradient), kTolerance) << c.name << ", " << micro_batch;
    }
  }
}

TEST(MixedLoss, MixingASampleWithItselfChangesNothing) {
  for (const Case& c : cases()) {
    const auto loss = make_loss(c.config, c.num_classes);
    Targets same = c.targets();
    same.other = same.labels;
    const Result expected = run_step(*loss, c.logits(), same.labels, 4), result = run_step(*loss, c.logits(), same, 4);
    EXPECT_NEAR(result.value, expected.value, kTolerance) << c.name;
    EXPECT_LT(largest_difference(result.gradient, expected.gradient), kTolerance) << c.name;
  }
}

TEST(MixedLoss, WithoutLabelsLossAndGradientAreZero) {
  for (const Case& c : cases()) {
    Targets none = c.targets();
    none.labels = at::full_like(none.labels, kIgnoreLabel);
    none.other = none.labels;
    const Result result = run_step(*make_loss(c.config, c.num_classes), c.logits(), none, 2);
    EXPECT_EQ(result.value, 0) << c.name;
    EXPECT_EQ(result.gradient.abs().max().item<double>(), 0) << c.name;
  }
}

// Less than one pixel in all: the mean is still that pixel's.
TEST(MixedLoss, DividesByPartsOfAPixel) {
  for (const Case& c : cases()) {
    Targets few = c.targets();
    few.labels = at::full_like(few.labels, kIgnoreLabel);
    few.other = few.labels.clone();
    few.other[1][0][0] = 1;
    Targets whole(few.other);
    const auto loss = make_loss(c.config, c.num_classes);
    if (c.config.type == LossType::kDice || c.config.type == LossType::kCeDice || c.config.type == LossType::kBceDice) continue;
    EXPECT_NEAR(run_step(*loss, c.logits(), few, 2).value, run_step(*loss, c.logits(), whole, 2).value, kTolerance) << c.name;
  }
}

}  // namespace
}  // namespace tessera
