#include "loss/loss.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "support/derivative.h"
#include "support/fixtures.h"
#include "support/loss_inputs.h"

namespace tessera {
namespace {

using testing::largest_difference;
using testing::loss_config;
using testing::loss_labels;
using testing::loss_logits;

// Sums of about a hundred float64 terms of size 1, in another order than torch's: about 1e-14.
constexpr double kDoubleTolerance = 1e-12;
// The same in float32, whose rounding is 6e-8 of values up to 2.
constexpr double kFloatTolerance = 1e-6;

struct Result {
  double value = 0;
  at::Tensor gradient;  // of the logits
};

// One step as in Note [Exact over micro-batches].
Result run_step(const Loss& loss, const at::Tensor& logits, const at::Tensor& labels, int64_t micro_batch) {
  const at::Tensor input = logits.detach().clone().requires_grad_();
  LossContext context = loss.prepare(labels);
  const int64_t n = labels.size(0);
  if (loss.needs_prediction_sums() && micro_batch < n) {
    for (int64_t i = 0; i < n; i += micro_batch) {
      context.add_predictions(loss.prediction_sums(input.narrow(0, i, micro_batch), labels.narrow(0, i, micro_batch)));
    }
  }
  Result result;
  for (int64_t i = 0; i < n; i += micro_batch) {
    const LossTerms terms = loss.micro_loss(input.narrow(0, i, micro_batch), labels.narrow(0, i, micro_batch), context);
    terms.value.backward();
    result.value += terms.value.item<double>();
  }
  result.gradient = input.grad();
  return result;
}

struct Case {
  std::string name;
  LossConfig config;
  int num_classes = 0;
  Result expected;
  at::Tensor labels;
  at::Tensor logits(at::ScalarType dtype = at::kDouble) const {
    return loss_logits(logit_channels(config, num_classes), dtype);
  }
};

std::vector<Case> cases() {
  std::vector<Case> all;
  const auto fixture = testing::load_fixture("torch_losses.json");
  for (const auto& entry : fixture.at("cases")) {
    Case c{entry.at("name"), loss_config(entry.at("config")), entry.at("num_classes"), {entry.at("value"), {}}, {}};
    c.labels = loss_labels(c.num_classes);
    c.expected.gradient = at::tensor(entry.at("gradient").get<std::vector<double>>(), at::kDouble).view_as(c.logits());
    all.push_back(std::move(c));
  }
  EXPECT_EQ(all.size(), 18);
  return all;
}

TEST(Loss, ValueAndGradientAreThoseOfTorch) {
  for (const Case& c : cases()) {
    const auto loss = make_loss(c.config, c.num_classes);
    const Result in_double = run_step(*loss, c.logits(), c.labels, 4);
    EXPECT_NEAR(in_double.value, c.expected.value, kDoubleTolerance) << c.name;
    EXPECT_LT(largest_difference(in_double.gradient, c.expected.gradient), kDoubleTolerance) << c.name;
    const Result in_float = run_step(*loss, c.logits(at::kFloat), c.labels, 4);
    EXPECT_NEAR(in_float.value, c.expected.value, kFloatTolerance) << c.name;
    EXPECT_LT(largest_difference(in_float.gradient, c.expected.gradient), kFloatTolerance) << c.name;
  }
}

TEST(Loss, IsTheSameOverOneTwoAndFourMicroBatches) {
  for (const Case& c : cases()) {
    const auto loss = make_loss(c.config, c.num_classes);
    for (const int64_t micro_batch : {1, 2}) {
      const Result cut = run_step(*loss, c.logits(), c.labels, micro_batch);
      EXPECT_NEAR(cut.value, c.expected.value, kDoubleTolerance) << c.name << ", micro-batch " << micro_batch;
      EXPECT_LT(largest_difference(cut.gradient, c.expected.gradient), kDoubleTolerance) << c.name << ", " << micro_batch;
    }
  }
}

TEST(Loss, SumsOfRanksAreThoseOfTheGlobalBatch) {
  for (const Case& c : cases()) {
    const auto loss = make_loss(c.config, c.num_classes);
    const at::Tensor all = loss->prepare(c.labels).sums;
    const at::Tensor parts = loss->prepare(c.labels.narrow(0, 0, 1)).sums + loss->prepare(c.labels.narrow(0, 1, 3)).sums;
    EXPECT_TRUE(at::equal(all, parts)) << c.name;
  }
}

TEST(Loss, GradientIsTheDerivativeOfTheValue) {
  constexpr double kStep = 1e-6;  // central differences: error about kStep^2 plus 1e-16 / kStep, so 1e-10
  for (const Case& c : cases()) {
    const auto loss = make_loss(c.config, c.num_classes);
    const at::Tensor direction = at::sin(at::arange(c.logits().numel(), at::kDouble)).view_as(c.logits());
    const double up = run_step(*loss, c.logits() + kStep * direction, c.labels, 4).value;
    const double down = run_step(*loss, c.logits() - kStep * direction, c.labels, 4).value;
    const Result here = run_step(*loss, c.logits(), c.labels, 4);
    EXPECT_NEAR((up - down) / (2 * kStep), (here.gradient * direction).sum().item<double>(), 1e-8) << c.name;
  }
}

TEST(Loss, BatchWithoutLabelsHasLossAndGradientZero) {
  for (const Case& c : cases()) {
    const auto loss = make_loss(c.config, c.num_classes);
    for (const int64_t micro_batch : {1, 4}) {
      const Result result = run_step(*loss, c.logits(at::kFloat), at::full_like(c.labels, -1), micro_batch);
      EXPECT_EQ(result.value, 0) << c.name;
      EXPECT_EQ(result.gradient.abs().max().item<double>(), 0) << c.name;  // NaN is not 0 either
    }
  }
}

TEST(Loss, HalfPrecisionLogitsAreComputedInFloat32) {
  for (const Case& c : cases()) {
    const auto loss = make_loss(c.config, c.num_classes);
    const at::Tensor half = c.logits(at::kBFloat16);
    const Result from_half = run_step(*loss, half, c.labels, 4);
    const Result from_float = run_step(*loss, half.to(at::kFloat), c.labels, 4);
    EXPECT_EQ(from_half.value, from_float.value) << c.name;
    EXPECT_EQ(from_half.gradient.scalar_type(), at::kBFloat16);
  }
}

TEST(Loss, ExtremeLogitsGiveFiniteLossAndGradient) {
  for (const Case& c : cases()) {
    const auto loss = make_loss(c.config, c.num_classes);
    const Result result = run_step(*loss, c.logits(at::kFloat) * 1e4, c.labels, 4);
    EXPECT_TRUE(std::isfinite(result.value)) << c.name;
    EXPECT_TRUE(at::isfinite(result.gradient).all().item<bool>()) << c.name;
  }
}

TEST(Loss, PartsAreNamedUnweightedAndWithoutGradient) {
  LossConfig config;
  config.type = LossType::kCeDice;
  config.ce_weight = 0.375;
  config.dice_weight = 1.125;
  const auto loss = make_loss(config, 5);
  const at::Tensor logits = loss_logits(5, at::kDouble).requires_grad_();
  const LossTerms terms = loss->micro_loss(logits, loss_labels(5), loss->prepare(loss_labels(5)));
  ASSERT_EQ(terms.parts.size(), 2);
  EXPECT_EQ(terms.parts[0].first, "ce");
  EXPECT_EQ(terms.parts[1].first, "dice");
  EXPECT_FALSE(terms.parts[0].second.requires_grad());
  EXPECT_NEAR(terms.value.item<double>(),
              0.375 * terms.parts[0].second.item<double>() + 1.125 * terms.parts[1].second.item<double>(), kDoubleTolerance);
}

TEST(Loss, DiceOfAMicroBatchWithoutTheOthersIsRefused) {
  LossConfig config;
  config.type = LossType::kDice;
  const auto loss = make_loss(config, 5);
  const LossContext context = loss->prepare(loss_labels(5));
  EXPECT_THROW(loss->micro_loss(loss_logits(5, at::kDouble).narrow(0, 0, 2), loss_labels(5).narrow(0, 0, 2), context), Error);
}

// Weights of one over a class's count of pixels, or of another unit: none is too small or too large for half precision.
TEST(Loss, OnlyTheRatiosOfClassWeightsMatter) {
  LossConfig config;
  config.class_weights = {1, 2, 0.5, 3, 1.5};
  const auto run = [&](double factor, at::ScalarType type) {
    LossConfig scaled = config;
    for (double& weight : scaled.class_weights) weight *= factor;
    return run_step(*make_loss(scaled, 5), loss_logits(5, type), loss_labels(5), 4);
  };
  for (const double factor : {std::ldexp(1, -40), std::ldexp(1, 40)}) {
    const Result one = run(1, at::kHalf), other = run(factor, at::kHalf);
    EXPECT_EQ(one.value, other.value) << factor;
    EXPECT_TRUE(one.gradient.equal(other.gradient)) << factor;
  }
  EXPECT_LT(largest_difference(run(1e-9, at::kDouble).gradient, run(1, at::kDouble).gradient), 1e-16);
}

TEST(Loss, OptionsThatDoNotFitAreRefused) {
  LossConfig config;
  config.class_weights = {1, 2};
  EXPECT_THROW(make_loss(config, 3), UsageError);
  config.type = LossType::kFocal;
  EXPECT_THROW(make_loss(config, 2), UsageError);
  config.class_weights.clear();
  config.label_smoothing = 0.1;
  EXPECT_THROW(make_loss(config, 2), UsageError);
  LossConfig dice;
  dice.type = LossType::kDice;
  dice.mean = LossMean::kAll;
  EXPECT_THROW(make_loss(dice, 2), UsageError);
  LossConfig binary;
  binary.type = LossType::kBce;
  EXPECT_THROW(make_loss(binary, 3), UsageError);
  EXPECT_THROW(make_loss(LossConfig{}, 1), UsageError);
}

// By the terms that a loss says it is made of: a type whose cross entropy was forgotten would lack its part.
TEST(Loss, CrossEntropyIsInTheTypesThatAreNamedAfterIt) {
  for (size_t i = 0; i < EnumNames<LossType>::names.size(); ++i) {
    LossConfig config;
    config.type = static_cast<LossType>(i);
    const std::string name(name_of(config.type));
    const auto loss = make_loss(config, 2);
    const at::Tensor labels = loss_labels(2);
    const LossTerms terms =
        loss->micro_loss(loss_logits(logit_channels(config, 2), at::kDouble), labels, loss->prepare(labels));
    std::string joined;
    for (const auto& [part, value] : terms.parts) joined += (joined.empty() ? "" : "_") + std::string(part);
    EXPECT_EQ(joined, name);
  }
}

TEST(Loss, LabelsOutOfRangeAndLogitsOfOtherShapeAreRefused) {
  const auto loss = make_loss(LossConfig{}, 5);
  EXPECT_THROW(loss->prepare(at::full({1, 2, 2}, 5, at::kShort)), Error);
  EXPECT_THROW(loss->prepare(at::full({1, 2, 2}, 255, at::kShort)), Error);
  const LossContext context = loss->prepare(loss_labels(5));
  EXPECT_THROW(loss->micro_loss(loss_logits(4, at::kFloat), loss_labels(5), context), Error);
  EXPECT_THROW(loss->micro_loss(loss_logits(5, at::kFloat), loss_labels(5).narrow(0, 0, 2), context), Error);
}

}  // namespace
}  // namespace tessera
