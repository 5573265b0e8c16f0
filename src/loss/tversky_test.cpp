#include "loss/tversky.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "loss/dice.h"

namespace tessera {
namespace {

// Three classes, four pixels: labels 0, 0, 1 and ignored; class 2 is absent.
PixelScores four_pixels() {
  const at::Tensor probs = at::tensor({0.5, 0.25, 0.25, 0.9,  //
                                       0.25, 0.5, 0.5, 0.05,  //
                                       0.25, 0.25, 0.25, 0.05},
                                      at::kDouble)
                               .view({1, 3, 1, 4});
  return {probs.log(), at::tensor({0, 0, 1, -1}, at::kLong).view({1, 1, 4})};
}

double value_of(const OverlapTerm& term) {
  const PixelScores scores = four_pixels();
  return term.value(scores, {count_labels(scores.labels(), 3), at::Tensor(), scores.labels().numel()}).item<double>();
}

// Class 0: I = 0.75, P = 1, T = 2. Class 1: I = 0.5, P = 1.25, T = 1.
TEST(Tversky, WeighsFalsePositivesAndFalseNegatives) {
  const double class_0 = 1 - 1.75 / (1.75 + 0.3 * 0.25 + 0.7 * 1.25), class_1 = 1 - 1.5 / (1.5 + 0.3 * 0.75 + 0.7 * 0.5);
  EXPECT_NEAR(value_of(TverskyTerm({.smooth = 1}, 0)), (class_0 + class_1) / 2, 1e-15);
  EXPECT_NEAR(value_of(TverskyTerm({.smooth = 1}, 1)), class_1, 1e-15);
  EXPECT_NEAR(value_of(TverskyTerm({.gamma = 0.75, .smooth = 1}, 0)), (std::pow(class_0, 0.75) + std::pow(class_1, 0.75)) / 2,
              1e-15);
}

TEST(Tversky, WithHalvesItIsDice) {
  EXPECT_NEAR(value_of(TverskyTerm({.alpha = 0.5, .beta = 0.5, .smooth = 0.5}, 0)), value_of(DiceTerm(1, 0)), 1e-15);
}

TEST(Tversky, PerfectPredictionGivesZeroAndAFiniteGradient) {
  const at::Tensor labels = four_pixels().labels();
  const at::Tensor logits = (at::one_hot(labels.clamp_min(0), 3).permute({0, 3, 1, 2}).to(at::kFloat) * 1e4).requires_grad_();
  for (const double gamma : {0.5, 1.0, 2.0}) {
    const PixelScores scores(logits, labels);
    const TverskyTerm term({.gamma = gamma, .smooth = 1}, 0);
    LossContext context{count_labels(labels, 3), at::Tensor(), 4};
    const auto gradient_of = [&] {
      logits.mutable_grad() = at::Tensor();
      const at::Tensor value = term.value(scores, context);
      value.backward({}, /*retain_graph=*/true);
      EXPECT_LT(value.item<double>(), 1e-12) << gamma;
      return logits.grad().abs().max().item<double>();
    };
    EXPECT_EQ(gradient_of(), 0) << gamma;
    context.prediction_sums = term.prediction_sums(scores).detach().flatten();
    EXPECT_EQ(gradient_of(), 0) << gamma;
  }
}

}  // namespace
}  // namespace tessera
