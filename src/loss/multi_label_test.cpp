#include "loss/multi_label.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "config/experiment.h"
#include "core/error.h"
#include "support/derivative.h"
#include "support/fixtures.h"
#include "support/loss_inputs.h"
#include "support/messages.h"

namespace tessera {
namespace {

using testing::largest_difference;
using testing::loss_logits;
using testing::message_of;

constexpr int kClasses = 3;
// Sums of some hundred float64 terms of size 1, in another order than torch's.
constexpr double kTolerance = 1e-12;

struct MultiLabelCase {
  std::string name;
  std::unique_ptr<Loss> loss;
  at::Tensor labels;
  double value = 0;
  at::Tensor gradient;
  bool distinct = false;

  at::Tensor logits(at::ScalarType type = at::kDouble) const { return loss_logits(kClasses, type, distinct); }
};

// The labels of tests/interop/make_torch_multi_label.py.
at::Tensor labels_of(bool sparse, bool ignored) {
  const at::Tensor i = at::arange(4 * 6 * 7, at::kLong);
  at::Tensor labels = (i * 31 + i.floor_divide(5)) % (sparse ? 4 : 8);
  if (ignored) labels = labels.masked_fill(((i * 17 + 3) % 4).lt(i.floor_divide(6 * 7)), -1);
  return labels.view({4, 6, 7}).to(at::kShort);
}

std::unique_ptr<Loss> loss_of(const std::string& terms, int num_classes = kClasses) {
  return make_loss(load_experiment("", {"data.labels.multi=true", "loss.terms=" + terms}).loss, num_classes, true);
}

std::vector<MultiLabelCase> fixture_cases() {
  std::vector<MultiLabelCase> all;
  const auto cases = testing::load_fixture("torch_multi_label.json").at("cases");
  for (const auto& entry : cases) {
    all.push_back({entry.at("name"), loss_of(entry.at("terms")), labels_of(entry.at("sparse"), entry.at("ignored")),
                   entry.at("value"),
                   at::tensor(entry.at("gradient").get<std::vector<double>>(), at::kDouble).view({4, kClasses, 3, 4}),
                   entry.at("distinct")});
  }
  EXPECT_EQ(all.size(), 18U);
  return all;
}

struct StepOutcome {
  double value = 0;
  at::Tensor gradient;
};

// One step as in Note [Exact over micro-batches].
StepOutcome step(const Loss& loss, const at::Tensor& logits, const Targets& targets, int64_t micro_batch) {
  const at::Tensor input = logits.detach().clone().requires_grad_();
  LossContext context = loss.prepare(targets);
  const int64_t n = targets.labels.size(0);
  for (int64_t i = 0; loss.needs_prediction_sums() && micro_batch < n && i < n; i += micro_batch)
    context.add_predictions(loss.prediction_sums(input.narrow(0, i, micro_batch), targets.narrow(i, micro_batch)));
  StepOutcome outcome;
  for (int64_t i = 0; i < n; i += micro_batch) {
    const LossValue part = loss.micro_loss(input.narrow(0, i, micro_batch), targets.narrow(i, micro_batch), context);
    part.value.backward();
    outcome.value += part.value.item<double>();
  }
  outcome.gradient = input.grad();
  return outcome;
}

TEST(MultiLabelLoss, ValueAndGradientAreThoseOfTorchOverAnyMicroBatches) {
  for (const MultiLabelCase& c : fixture_cases()) {
    for (const int64_t micro_batch : {4, 2, 1}) {
      const StepOutcome result = step(*c.loss, c.logits(), c.labels, micro_batch);
      EXPECT_NEAR(result.value, c.value, kTolerance) << c.name << ", " << micro_batch;
      EXPECT_LT(largest_difference(result.gradient, c.gradient), kTolerance) << c.name << ", " << micro_batch;
    }
  }
}

TEST(MultiLabelLoss, GradientIsTheDerivativeOfTheValue) {
  constexpr double kStep = 1e-6;  // central differences: error about kStep^2 plus 1e-16 / kStep, so 1e-10
  for (const MultiLabelCase& c : fixture_cases()) {
    const at::Tensor logits = c.logits();
    const at::Tensor direction = at::sin(at::arange(logits.numel(), at::kDouble)).view_as(logits);
    const double up = step(*c.loss, logits + kStep * direction, c.labels, 4).value;
    const double down = step(*c.loss, logits - kStep * direction, c.labels, 4).value;
    const double slope = (step(*c.loss, logits, c.labels, 4).gradient * direction).sum().item<double>();
    EXPECT_NEAR((up - down) / (2 * kStep), slope, 1e-8) << c.name;
  }
}

// What MixUp blends is the blend of both targets, wherever the loss is linear in them; and mixing a sample with itself is none.
TEST(MultiLabelLoss, BlendedTargetsAreTheirBlendOverAnyMicroBatches) {
  const at::Tensor logits = loss_logits(kClasses, at::kDouble), labels = labels_of(false, false);
  const at::Tensor half = at::full({4}, 0.25, at::kDouble);
  const auto bce = loss_of("[bce]");
  const double one = step(*bce, logits, labels, 4).value, other = step(*bce, logits, labels.roll(1, 0), 4).value;
  EXPECT_NEAR(step(*bce, logits, {labels, labels.roll(1, 0), half}, 2).value, 0.25 * one + 0.75 * other, kTolerance);
  for (const MultiLabelCase& c : fixture_cases()) {
    const StepOutcome same = step(*c.loss, c.logits(), {c.labels, c.labels, half}, 4);
    EXPECT_NEAR(same.value, c.value, kTolerance) << c.name;
    EXPECT_LT(largest_difference(same.gradient, c.gradient), kTolerance) << c.name;
    const Targets mixed{c.labels, c.labels.roll(1, 0), at::tensor({1.0, 0.75, 0.5, 0.9}, at::kDouble)};
    const StepOutcome whole = step(*c.loss, c.logits(), mixed, 4), cut = step(*c.loss, c.logits(), mixed, 1);
    EXPECT_NEAR(whole.value, cut.value, kTolerance) << c.name;
    EXPECT_LT(largest_difference(whole.gradient, cut.gradient), kTolerance) << c.name;
  }
}

TEST(MultiLabelLoss, BatchWithoutLabelsHasLossAndGradientZero) {
  for (const MultiLabelCase& c : fixture_cases()) {
    const StepOutcome result = step(*c.loss, c.logits(at::kFloat), at::full_like(c.labels, kIgnoreLabel), 2);
    EXPECT_EQ(result.value, 0) << c.name;
    EXPECT_EQ(result.gradient.abs().max().item<double>(), 0) << c.name;
  }
}

TEST(MultiLabelLoss, ExtremeAndHalfPrecisionLogitsGiveFiniteLossAndGradient) {
  for (const MultiLabelCase& c : fixture_cases()) {
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
      const StepOutcome result = step(*c.loss, c.logits(type) * 1e4, c.labels, 4);
      EXPECT_TRUE(std::isfinite(result.value)) << c.name;
      EXPECT_TRUE(result.gradient.isfinite().all().item<bool>()) << c.name;
      EXPECT_EQ(result.gradient.scalar_type(), type);
    }
  }
}

TEST(MultiLabelLoss, CountsEachClassAndTheLabelledPixels) {
  const at::Tensor labels = at::tensor({0, 1, 3, 7, -1, 4, 0, -1}, at::kLong).view({2, 2, 2}).to(at::kShort);
  EXPECT_TRUE(count_class_bits(labels, 3).equal(at::tensor({3.0, 2.0, 2.0, 6.0}, at::kDouble)));
  const Targets mixed{labels, labels.roll(1, 0), at::tensor({0.5, 0.5}, at::kDouble)};
  EXPECT_TRUE(count_class_bits(mixed, 3).equal(at::tensor({3.0, 2.0, 2.0, 6.0}, at::kDouble)));
}

TEST(MultiLabelLoss, TakesOneToFifteenClassesAndNoSoftmax) {
  EXPECT_NO_THROW(loss_of("[bce, dice]", 1));
  EXPECT_NO_THROW(loss_of("[bce, dice]", 15));
  EXPECT_CONTAINS(message_of<UsageError>([] { loss_of("[bce]", 16); }), "takes 1 to 15 classes, the data set has 16");
  EXPECT_CONTAINS(message_of<UsageError>([] { loss_of("[ce, dice]"); }), "use bce");
  EXPECT_THROW(loss_of("[{bce: {class_weights: [1, 2]}}]"), UsageError);
}

}  // namespace
}  // namespace tessera
