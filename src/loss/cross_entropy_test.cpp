#include "loss/cross_entropy.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tessera {
namespace {

// Three pixels in a row: class 0 at p = 1/2, class 1 at p = 1/4, and one that is ignored.
PixelScores three_pixels() {
  const at::Tensor probs = at::tensor({0.5, 0.75, 0.9, 0.5, 0.25, 0.1}, at::kDouble).view({1, 2, 1, 3});
  const at::Tensor labels = at::tensor({0, 1, -1}, at::kLong).view({1, 1, 3});
  return {probs.log(), labels};
}

LossContext context_of(const PixelScores& scores) {
  return {count_labels(scores.labels(), 2), at::Tensor(), scores.labels().numel()};
}

TEST(CrossEntropy, IsTheMeanOverLabelledPixels) {
  const CrossEntropyTerm term({}, 0);
  const double value = term.value(three_pixels(), context_of(three_pixels())).item<double>();
  EXPECT_NEAR(value, (std::log(2) + std::log(4)) / 2, 1e-15);
}

TEST(CrossEntropy, ClassWeightsAlsoWeighTheCount) {
  const CrossEntropyTerm term({1, 3}, 0);
  const double value = term.value(three_pixels(), context_of(three_pixels())).item<double>();
  EXPECT_NEAR(value, (std::log(2) + 3 * std::log(4)) / 4, 1e-15);
}

TEST(CrossEntropy, LabelSmoothingMixesInAllClasses) {
  const CrossEntropyTerm term({}, 0.2);
  const double value = term.value(three_pixels(), context_of(three_pixels())).item<double>();
  const double first = 0.9 * std::log(2) + 0.1 * std::log(2);
  const double second = 0.9 * std::log(4) + 0.1 * std::log(4.0 / 3);
  EXPECT_NEAR(value, (first + second) / 2, 1e-15);
}

TEST(CrossEntropy, ClassesOfWeightZeroAloneGiveZero) {
  const CrossEntropyTerm term({0, 0}, 0);
  EXPECT_EQ(term.value(three_pixels(), context_of(three_pixels())).item<double>(), 0);
}

// Two channels with the identity as classifier: features are logits.
TEST(CrossEntropy, AClassifierInPlaceOfLogitsGivesTheSame) {
  const at::Tensor logits = at::tensor({0.5, 0.75, 1.0, 0.25, -0.5, 2.0}, at::kFloat).view({1, 2, 1, 3}).to(at::kBFloat16);
  const at::Tensor features = at::constant_pad_nd(logits, {0, 0, 0, 0, 0, 6}).contiguous(at::MemoryFormat::ChannelsLast);
  const PixelClassifier classifier{features, at::eye(2, 8, at::kBFloat16).view({2, 8, 1, 1}), at::zeros({2})};
  const at::Tensor labels = at::tensor({0, 1, -1}, at::kLong).view({1, 1, 3});
  const PixelScores scores(logits, labels);
  const CrossEntropyTerm term({1, 3}, 0.1);
  EXPECT_TRUE(term.supports_fused_classifier());
  EXPECT_NEAR(term.value(scores, context_of(scores)).item<double>(),
              term.value(PixelScores(classifier, labels), context_of(scores)).item<double>(), 1e-6);
}

}  // namespace
}  // namespace tessera
