#include "loss/focal.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tessera {
namespace {

TEST(Focal, WeighsByTheMissAndDividesByLabelledPixels) {
  const at::Tensor probs = at::tensor({0.5, 0.75, 0.9, 0.5, 0.25, 0.1}, at::kDouble).view({1, 2, 1, 3});
  const at::Tensor labels = at::tensor({0, 1, -1}, at::kLong).view({1, 1, 3});
  const PixelScores scores(probs.log(), labels);
  const LossContext context{count_labels(labels, 2), at::Tensor(), 3};
  EXPECT_NEAR(FocalTerm(2).value(scores, context).item<double>(), (0.25 * std::log(2) + 0.5625 * std::log(4)) / 2, 1e-15);
  EXPECT_NEAR(FocalTerm(0).value(scores, context).item<double>(), (std::log(2) + std::log(4)) / 2, 1e-15);
}

TEST(Focal, GradientIsFiniteAtAPerfectPrediction) {
  for (const double gamma : {0.0, 0.5, 1.0, 2.0}) {
    const at::Tensor logits = at::tensor({0.0F, 200.0F}).view({1, 2, 1, 1}).requires_grad_();
    const at::Tensor labels = at::ones({1, 1, 1}, at::kShort);
    FocalTerm(gamma).value(PixelScores(logits, labels), {count_labels(labels, 2), at::Tensor(), 1}).backward();
    EXPECT_EQ(logits.grad().abs().max().item<float>(), 0) << gamma;
  }
}

}  // namespace
}  // namespace tessera
