#include "loss/ohem.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"

namespace tessera {
namespace {

// An image of a row of pixels, where `p` is the probability of each one's label; the last is ignored.
PixelScores row_of(const std::vector<double>& p) {
  const auto n = static_cast<int64_t>(p.size());
  const at::Tensor own = at::tensor(p, at::kDouble).view({1, 1, 1, n});
  at::Tensor labels = at::zeros({1, 1, n}, at::kLong);
  labels[0][0][n - 1] = -1;
  return {at::cat({own, 1 - own}, 1).log(), labels};
}

double value_of(const OhemConfig& options, const PixelScores& scores) {
  return OhemTerm(options)
      .value(scores, {count_labels(scores.labels(), 2), at::Tensor(), scores.labels().numel()})
      .item<double>();
}

TEST(Ohem, CountsThePixelsBelowTheThreshold) {
  const PixelScores scores = row_of({0.9, 0.5, 0.8, 0.25, 0.1});
  EXPECT_NEAR(value_of({.threshold = 0.7, .min_kept = 0}, scores), (std::log(2) + std::log(4)) / 2, 1e-15);
  EXPECT_NEAR(value_of({.threshold = 0.7, .min_kept = 0, .mean = OhemMean::kLabelled}, scores), std::log(8) / 4, 1e-15);
  EXPECT_NEAR(value_of({.threshold = 0.7, .min_kept = 0, .mean = OhemMean::kAll}, scores), std::log(8) / 5, 1e-15);
}

TEST(Ohem, KeepsTheHardestWhereFewAreBelowIt) {
  const PixelScores scores = row_of({0.9, 0.5, 0.8, 0.25, 0.1});
  EXPECT_NEAR(value_of({.threshold = 0, .min_kept = 1}, scores), std::log(4), 1e-15);
  EXPECT_NEAR(value_of({.threshold = 0.3, .min_kept = 3}, scores), (std::log(8) - std::log(0.8)) / 3, 1e-15);
  EXPECT_NEAR(value_of({.threshold = 0.3, .min_kept = 0.6}, scores), (std::log(8) - std::log(0.8)) / 3, 1e-15);
  EXPECT_NEAR(value_of({.threshold = 0.3, .min_kept = 1000}, scores), (std::log(8) - std::log(0.72)) / 4, 1e-15);
}

// All are as hard as the last one that has to be kept: not one may be dropped, or a fresh model would learn nothing.
TEST(Ohem, KeepsAllThatAreEquallyHard) {
  EXPECT_NEAR(value_of({.threshold = 0, .min_kept = 1}, row_of({0.5, 0.5, 0.5, 0.5})), std::log(2), 1e-15);
}

TEST(Ohem, NothingHardOrLabelledGivesZero) {
  EXPECT_EQ(value_of({.threshold = 0.7, .min_kept = 0}, row_of({0.9, 0.8, 0.1})), 0);
  EXPECT_EQ(value_of({.threshold = 0.7, .min_kept = 5}, row_of({0.1})), 0);
}

TEST(Ohem, ClassWeightsWeighWhatIsKept) {
  const at::Tensor probs = at::tensor({0.5, 0.75, 0.9, 0.5, 0.25, 0.1}, at::kDouble).view({1, 2, 1, 3});
  const PixelScores scores(probs.log(), at::tensor({0, 1, 0}, at::kLong).view({1, 1, 3}));
  EXPECT_NEAR(value_of({.min_kept = 0, .class_weights = {1, 3}}, scores), (std::log(2) + 3 * std::log(4)) / 4, 1e-15);
}

TEST(Ohem, AMicroBatchNeedsTheCountOfTheBatch) {
  const PixelScores scores = row_of({0.9, 0.5, 0.1});
  EXPECT_THROW(OhemTerm(OhemConfig{}).value(scores, {count_labels(scores.labels(), 2), at::Tensor(), 6}), Error);
}

}  // namespace
}  // namespace tessera
