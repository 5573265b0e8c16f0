#include "loss/dice.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

// Three classes, four pixels: labels 0, 0, 1 and ignored; class 2 is absent.
PixelScores four_pixels() {
  const at::Tensor probs = at::tensor({0.5, 0.25, 0.25, 0.9,  //
                                       0.25, 0.5, 0.5, 0.05,  //
                                       0.25, 0.25, 0.25, 0.05},
                                      at::kDouble)
                               .view({1, 3, 1, 4});
  const at::Tensor labels = at::tensor({0, 0, 1, -1}, at::kLong).view({1, 1, 4});
  return {probs.log(), labels};
}

LossContext context_of(const PixelScores& scores) {
  return {count_labels(scores.labels(), 3), at::Tensor(), scores.labels().numel()};
}

TEST(Dice, SumsLeaveIgnoredPixelsOut) {
  const at::Tensor sums = DiceTerm(1, 0).prediction_sums(four_pixels());
  const at::Tensor expected = at::tensor({0.75, 0.5, 0.0, 1.0, 1.25, 0.75}, at::kDouble).view({2, 3});
  EXPECT_TRUE(at::allclose(sums, expected, 0, 1e-15));
}

TEST(Dice, IsTheMeanOverClassesPresentInTheLabels) {
  const double value = DiceTerm(1, 0).value(four_pixels(), context_of(four_pixels())).item<double>();
  const double class_0 = 1 - (2 * 0.75 + 1) / (2 + 1.0 + 1);
  const double class_1 = 1 - (2 * 0.5 + 1) / (1 + 1.25 + 1);
  EXPECT_NEAR(value, (class_0 + class_1) / 2, 1e-15);
}

TEST(Dice, FirstClassLeavesTheBackgroundOut) {
  const double value = DiceTerm(1, 1).value(four_pixels(), context_of(four_pixels())).item<double>();
  EXPECT_NEAR(value, 1 - (2 * 0.5 + 1) / (1 + 1.25 + 1), 1e-15);
}

TEST(Dice, PerfectPredictionGivesZero) {
  const at::Tensor labels = four_pixels().labels();
  const PixelScores scores(at::one_hot(labels.clamp_min(0), 3).permute({0, 3, 1, 2}).to(at::kDouble).log(), labels);
  EXPECT_EQ(DiceTerm(1e-5, 0).value(scores, context_of(scores)).item<double>(), 0);
}

}  // namespace
}  // namespace tessera
