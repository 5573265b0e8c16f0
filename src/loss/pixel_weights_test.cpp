#include "loss/pixel_weights.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "loss/cross_entropy.h"

namespace tessera {
namespace {

TEST(BoundaryWeights, FallOffFromBothSidesAndEndAtThreeSigma) {
  const at::Tensor labels = at::tensor({0, 0, 0, 0, 0, 1, 1}, at::kShort).view({1, 1, 7});
  const at::Tensor weights = boundary_weights(10, 1)(labels);
  for (const auto& [place, distance] : std::vector<std::pair<int, int>>{{6, 1}, {5, 0}, {4, 0}, {3, 1}, {2, 2}, {1, 3}})
    EXPECT_NEAR(weights[0][0][place].item<double>(), 1 + 10 * std::exp(-0.5 * distance * distance), 1e-12) << place;
  EXPECT_EQ(weights[0][0][0].item<double>(), 1);
}

TEST(BoundaryWeights, DistancesAreEuclidean) {
  at::Tensor labels = at::zeros({1, 12, 12}, at::kShort);
  labels[0][0][0] = 1;  // its neighbours (0, 1) and (1, 0) are at the boundary too
  const at::Tensor weights = boundary_weights(1, 4)(labels);
  EXPECT_NEAR(weights[0][4][5].item<double>(), 1 + std::exp(-(4 * 4 + 4 * 4) / 32.0), 1e-12);  // from (0, 1)
  EXPECT_NEAR(weights[0][0][11].item<double>(), 1 + std::exp(-100 / 32.0), 1e-12);
  EXPECT_EQ(weights[0][11][11].item<double>(), 1);
}

TEST(BoundaryWeights, IgnoredPixelsMakeNoBoundary) {
  const at::Tensor labels = at::tensor({0, 0, -1, 1, 1}, at::kLong).view({1, 1, 5});
  EXPECT_TRUE(boundary_weights(10, 2)(labels).eq(1).all().item<bool>());
}

TEST(BoundaryWeights, OnePixelOrOneColumnHasNone) {
  EXPECT_TRUE(boundary_weights(10, 5)(at::zeros({2, 1, 1}, at::kShort)).eq(1).all().item<bool>());
  EXPECT_EQ(boundary_weights(10, 5)(at::tensor({0, 1}, at::kShort).view({1, 2, 1})).min().item<double>(), 11);
}

// Two pixels at a boundary, p = 1/2 and 1/4: each counts 11 times, and the mean is still over two pixels.
TEST(BoundaryWeights, MultiplyTheSumAndNotTheCount) {
  const at::Tensor probs = at::tensor({0.5, 0.75, 0.5, 0.25}, at::kDouble).view({1, 2, 1, 2});
  const PixelScores scores(probs.log(), at::tensor({0, 1}, at::kLong).view({1, 1, 2}));
  const CrossEntropyTerm term({}, 0, LossMean::kLabelled, boundary_weights(10, 5));
  EXPECT_FALSE(term.supports_fused_classifier());
  EXPECT_NEAR(term.value(scores, {count_labels(scores.labels(), 2), at::Tensor(), 2}).item<double>(),
              11 * (std::log(2) + std::log(4)) / 2, 1e-14);
}

}  // namespace
}  // namespace tessera
