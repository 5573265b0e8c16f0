#include "loss/loss.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "config/experiment.h"
#include "core/error.h"
#include "loss/pixel_scores.h"
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

LossConfig loss_of(const std::vector<LossTermConfig>& terms) {
  LossConfig config;
  config.terms = terms;
  return config;
}

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
    const LossValue loss_value = loss.micro_loss(input.narrow(0, i, micro_batch), labels.narrow(0, i, micro_batch), context);
    loss_value.value.backward();
    result.value += loss_value.value.item<double>();
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
  bool distinct = false;
  at::Tensor logits(at::ScalarType dtype = at::kDouble) const {
    return loss_logits(logit_channels(config, num_classes), dtype, distinct);
  }
};

std::vector<Case> cases() {
  std::vector<Case> all;
  const auto fixture = testing::load_fixture("torch_losses.json");
  for (const auto& entry : fixture.at("cases")) {
    Case c{entry.at("name"),    loss_config(entry.at("config")), entry.at("num_classes"), {entry.at("value"), {}}, {},
           entry.at("distinct")};
    c.labels = loss_labels(c.num_classes);
    c.expected.gradient = at::tensor(entry.at("gradient").get<std::vector<double>>(), at::kDouble).view_as(c.logits());
    all.push_back(std::move(c));
  }
  EXPECT_EQ(all.size(), 38);
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

// Each old type by its keys and by its terms.
TEST(Loss, OlderKeysAndTermsGiveTheSameBits) {
  struct Forms {
    int num_classes;
    std::vector<std::string> keys;
    const char* terms;
  };
  for (const Forms& forms : {
           Forms{5, {"loss.type=ce", "loss.label_smoothing=0.1"}, "[{ce: {label_smoothing: 0.1}}]"},
           Forms{5, {"loss.class_weights=[1,2,3,4,5]", "loss.mean=all"}, "[{ce: {class_weights: [1,2,3,4,5], mean: all}}]"},
           Forms{5, {"loss.type=dice", "loss.dice_smooth=1", "loss.dice_weight=3"}, "[{dice: {smooth: 1}}]"},
           Forms{5,
                 {"loss.type=ce_dice", "loss.ce_weight=0.375", "loss.dice_weight=1.125", "loss.mean=all"},
                 "[{ce: {weight: 0.375, mean: all}}, {dice: {weight: 1.125}}]"},
           Forms{5, {"loss.type=focal", "loss.focal_gamma=1.5", "loss.mean=all"}, "[{focal: {gamma: 1.5, mean: all}}]"},
           Forms{2, {"loss.type=bce", "loss.class_weights=[1,3]"}, "[{bce: {class_weights: [1,3]}}]"},
           Forms{2,
                 {"loss.type=bce_dice", "loss.ce_weight=0.3", "loss.dice_smooth=0.1"},
                 "[{bce: {weight: 0.3}}, {dice: {smooth: 0.1}}]"},
       }) {
    const LossConfig old_form = load_experiment("", forms.keys).loss;
    const LossConfig new_form = load_experiment("", {std::string("loss.terms=") + forms.terms}).loss;
    const at::Tensor labels = loss_labels(forms.num_classes);
    const at::Tensor logits = loss_logits(logit_channels(new_form, forms.num_classes), at::kDouble);
    for (const int64_t micro_batch : {1, 2, 4}) {
      const Result a = run_step(*make_loss(old_form, forms.num_classes), logits, labels, micro_batch),
                   b = run_step(*make_loss(new_form, forms.num_classes), logits, labels, micro_batch);
      EXPECT_EQ(a.value, b.value) << forms.terms;
      EXPECT_TRUE(a.gradient.equal(b.gradient)) << forms.terms;
    }
  }
}

TEST(Loss, TheExampleOfTheDocs) {                             // docs/training.md
  const at::Tensor probs = at::tensor({0.5, 0.25, 0.25, 0.9,  //
                                       0.25, 0.5, 0.5, 0.05,  //
                                       0.25, 0.25, 0.25, 0.05},
                                      at::kDouble)
                               .view({1, 3, 1, 4});
  const at::Tensor labels = at::tensor({0, 0, 1, -1}, at::kLong).view({1, 1, 4});
  const auto loss = make_loss(load_experiment("", {"loss.terms=[ce, {dice: {weight: 3, smooth: 1e-5}}]"}).loss, 3);
  const double value = loss->micro_loss(probs.log(), labels, loss->prepare(labels)).value.item<double>();
  EXPECT_NEAR(value, 4 * std::log(2) / 3 + 3 * (0.5 + 5.0 / 9) / 2, 2e-5);  // 1e-5 is smooth
  EXPECT_NEAR(value, 2.508, 5e-4);
}

TEST(Loss, EachTermHasItsPartOfThePredictionSums) {
  const auto both = make_loss(loss_of({DiceConfig{.smooth = 1}, FocalConfig{}, DiceConfig{}}), 5),
             one = make_loss(loss_of({DiceConfig{}}), 5);
  const at::Tensor logits = loss_logits(5, at::kDouble), labels = loss_labels(5);
  const at::Tensor sums = one->prediction_sums(logits, labels);
  EXPECT_EQ(sums.sizes(), (std::vector<int64_t>{10}));
  EXPECT_TRUE(both->prediction_sums(logits, labels).equal(at::cat({sums, sums})));
  EXPECT_FALSE(make_loss(loss_of({FocalConfig{}, CrossEntropyConfig{}}), 5)->needs_prediction_sums());
}

TEST(Loss, DiceOfAMicroBatchWithoutTheOthersIsRefused) {
  const auto loss = make_loss(loss_of({DiceConfig{}}), 5);
  const LossContext context = loss->prepare(loss_labels(5));
  EXPECT_THROW(loss->micro_loss(loss_logits(5, at::kDouble).narrow(0, 0, 2), loss_labels(5).narrow(0, 0, 2), context), Error);
}

// Weights of one over a class's count of pixels, or of another unit: none is too small or too large for half precision.
TEST(Loss, OnlyTheRatiosOfClassWeightsMatter) {
  const auto run = [&](double factor, at::ScalarType type) {
    CrossEntropyConfig scaled{.class_weights = {1, 2, 0.5, 3, 1.5}};
    for (double& weight : scaled.class_weights.given) weight *= factor;
    return run_step(*make_loss(loss_of({scaled}), 5), loss_logits(5, type), loss_labels(5), 4);
  };
  for (const double factor : {std::ldexp(1, -40), std::ldexp(1, 40)}) {
    const Result one = run(1, at::kHalf), other = run(factor, at::kHalf);
    EXPECT_EQ(one.value, other.value) << factor;
    EXPECT_TRUE(one.gradient.equal(other.gradient)) << factor;
  }
  EXPECT_LT(largest_difference(run(1e-9, at::kDouble).gradient, run(1, at::kDouble).gradient), 1e-16);
}

TEST(Loss, TermsThatDoNotFitAreRefused) {
  const CrossEntropyConfig weighted{.class_weights = {1, 2}};
  EXPECT_THROW(make_loss(loss_of({weighted}), 3), UsageError);
  EXPECT_THROW(make_loss(loss_of({DiceConfig{}, weighted}), 3), UsageError);
  EXPECT_NO_THROW(make_loss(loss_of({DiceConfig{}, BinaryCrossEntropyConfig{weighted}}), 2));
  EXPECT_THROW(make_loss(loss_of({BinaryCrossEntropyConfig{}}), 3), UsageError);
  EXPECT_THROW(make_loss(loss_of({BinaryCrossEntropyConfig{}, CrossEntropyConfig{}}), 2), UsageError);
  EXPECT_THROW(make_loss(loss_of({}), 2), UsageError);
  EXPECT_THROW(make_loss(LossConfig{}, 1), UsageError);
}

TEST(Loss, LabelsOutOfRangeAndLogitsOfOtherShapeAreRefused) {
  EXPECT_THROW(check_label_range(at::full({1, 2, 2}, 5, at::kShort), 5), Error);
  EXPECT_THROW(check_label_range(at::full({1, 2, 2}, 255, at::kShort), 5), Error);
  EXPECT_THROW(check_label_range(at::full({1, 2, 2}, -2, at::kShort), 5), Error);
  EXPECT_NO_THROW(check_label_range(loss_labels(5), 5));
  const auto loss = make_loss(LossConfig{}, 5);
  const LossContext context = loss->prepare(loss_labels(5));
  EXPECT_THROW(loss->micro_loss(loss_logits(4, at::kFloat), loss_labels(5), context), Error);
  EXPECT_THROW(loss->micro_loss(loss_logits(5, at::kFloat), loss_labels(5).narrow(0, 0, 2), context), Error);
}

}  // namespace
}  // namespace tessera
