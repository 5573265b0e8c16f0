#include "loss/lovasz.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "support/derivative.h"

namespace tessera {
namespace {

at::Tensor row(const std::vector<double>& values) {
  return at::tensor(values, at::kDouble).view({1, -1});
}

// Errors 0.8, 0.6, 0.5, 0.1 of pixels that are: of another class, of the class, of the class, of another. The Jaccard losses of
// the first one, two, three and four are 1 - 2/3, 1 - 1/3, 1 and 1.
TEST(Lovasz, SlopesAreWhatEachPixelAddsToTheJaccardLoss) {
  const at::Tensor truth = at::tensor({1, 0, 0, 1}).view({1, 4}).to(at::kBool), none = at::zeros({4}, at::kBool);
  const at::Tensor slopes = lovasz_slopes(row({0.5, 0.8, 0.1, 0.6}), truth, none);
  EXPECT_LT(testing::largest_difference(slopes, row({1.0 / 3, 1.0 / 3, 0, 1.0 / 3})), 1e-15);
}

TEST(Lovasz, IgnoredPixelsTakeNoPart) {
  const at::Tensor truth = at::tensor({1, 1, 0, 0, 1}).view({1, 5}).to(at::kBool);
  const at::Tensor ignored = at::tensor({0, 1, 0, 0, 0}).to(at::kBool);
  const at::Tensor slopes = lovasz_slopes(row({0.5, 0.9, 0.8, 0.1, 0.6}), truth, ignored);
  EXPECT_LT(testing::largest_difference(slopes, row({1.0 / 3, 0, 1.0 / 3, 0, 1.0 / 3})), 1e-15);
}

TEST(Lovasz, AnAbsentClassHasTheLargestErrorAlone) {
  const at::Tensor none = at::zeros({1, 3}, at::kBool);
  EXPECT_TRUE(lovasz_slopes(row({0.2, 0.7, 0.1}), none, none[0]).equal(row({0, 1, 0})));
}

// With float32 counts the slopes of a million pixels add up to 1 as they do in float64.
TEST(Lovasz, ManyPixelsLoseNothingInFloat32) {
  constexpr int64_t kPixels = 1 << 20;
  const at::Tensor errors = at::sin(at::arange(kPixels, at::kDouble) * 0.7).abs().view({1, -1});
  const at::Tensor truth = at::arange(kPixels, at::kLong).remainder(3).eq(0).view({1, -1}),
                   none = at::zeros({kPixels}, at::kBool);
  const at::Tensor exact = lovasz_slopes(errors.to(at::kFloat).to(at::kDouble), truth, none);
  const at::Tensor own = lovasz_slopes(errors.to(at::kFloat), truth, none);
  EXPECT_NEAR(exact.sum().item<double>(), 1, 1e-12);
  EXPECT_LT(((own - exact).abs() / exact.clamp_min(1e-12)).max().item<double>(), 1e-5);
}

LossContext context_of(const at::Tensor& labels, int classes) {
  return {count_labels(labels, classes), at::Tensor(), labels.numel()};
}

// Two pixels of classes 0 and 1 with the right probability 0.5 and 0.75; class 2 is absent. Class 0 has errors 0.5 of its own
// pixel and 0.125 of the other: slopes 1 and 0. Class 1 has 0.25 and 0.25, equal, the first pixel's first: 1 - 1/2 and 1/2.
TEST(Lovasz, IsTheMeanOverThePresentClassesOfEachImage) {
  const at::Tensor probs = at::tensor({0.5, 0.125, 0.25, 0.75, 0.25, 0.125}, at::kDouble).view({1, 3, 1, 2});
  const at::Tensor labels = at::tensor({0, 1}, at::kLong).view({1, 1, 2});
  const auto value = [&](const at::Tensor& p, const at::Tensor& l, bool all) {
    return LovaszTerm(LovaszForm::kSoftmax, all).value({p.log(), l}, context_of(l, 3)).item<double>();
  };
  EXPECT_NEAR(value(probs, labels, false), (0.5 + 0.25) / 2, 1e-15);
  EXPECT_NEAR(value(probs, labels, true), (0.5 + 0.25 + 0.25) / 3, 1e-15);
  // A second image without a labelled pixel has 0.
  EXPECT_NEAR(value(at::cat({probs, probs}), at::cat({labels, at::full_like(labels, -1)}), false), (0.5 + 0.25) / 4, 1e-15);
}

// Logits 0.5 (class 1) and 2 (class 0): errors 0.5 and 3, slopes 1/2 of the second and 1/2 of the first.
TEST(Lovasz, OfOneLogitItIsTheHinge) {
  const at::Tensor logits = at::tensor({0.5, 2.0}, at::kDouble).view({1, 1, 1, 2});
  const at::Tensor labels = at::tensor({1, 0}, at::kLong).view({1, 1, 2});
  const double value = LovaszTerm(LovaszForm::kHinge, false).value({logits, labels}, context_of(labels, 2)).item<double>();
  EXPECT_NEAR(value, 0.5 * 3 + 0.5 * 0.5, 1e-15);
}

}  // namespace
}  // namespace tessera
