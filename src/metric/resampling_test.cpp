#include "metric/resampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/rng.h"

namespace tessera {
namespace {

// An image of 100 pixels in two classes, of which `found` of the first's 50 are found; the others are taken for the second.
ImageCounts image(int64_t found) {
  return {{0, {found, 0, 50 - found, 50}}, {1, {50, 50 - found, 0, found}}};
}

constexpr Resampling kHow{.num_classes = 2, .rounds = 4000, .seed = 3};
constexpr size_t kMeanIou = 0, kPixelAccuracy = 1;

// Accuracies of images that are spread as normal numbers around `mean`, per cent of the first class.
std::vector<ImageCounts> images_around(double mean, double spread, int count, uint64_t seed) {
  std::vector<ImageCounts> images;
  for (int i = 0; i < count; ++i) {
    const double found = Rng(seed, Stream::kStudy, 1, static_cast<uint64_t>(i)).normal() * spread + mean;
    images.push_back(image(std::clamp<int64_t>(std::llround(found), 0, 50)));
  }
  return images;
}

TEST(Resampling, EqualImagesHaveNoSpread) {
  const std::vector<ImageCounts> images(5, image(40));
  const Interval interval = metric_intervals(images, kHow)[kPixelAccuracy];
  EXPECT_DOUBLE_EQ(interval.low, 0.9);
  EXPECT_DOUBLE_EQ(interval.high, 0.9);
}

// Pixel accuracy is a mean over images here, whose spread is known: 1.96 standard errors to each side.
TEST(Resampling, IntervalOfAMeanIsThatOfTheNormalDistribution) {
  const std::vector<ImageCounts> images = images_around(30, 6, 400, 1);
  double sum = 0, squares = 0;
  for (const ImageCounts& one : images) {
    const double accuracy = (static_cast<double>(one[0].second.tp) + 50) / 100;
    sum += accuracy;
    squares += accuracy * accuracy;
  }
  const double mean = sum / 400, error = std::sqrt((squares / 400 - mean * mean) / 400);
  const Interval interval = metric_intervals(images, kHow)[kPixelAccuracy];
  EXPECT_NEAR(interval.low, mean - 1.96 * error, 0.15 * error);
  EXPECT_NEAR(interval.high, mean + 1.96 * error, 0.15 * error);
}

TEST(Resampling, OneImageHasNoInterval) {
  const std::vector<ImageCounts> one = {image(40)};
  EXPECT_TRUE(std::isnan(metric_intervals(one, kHow)[kMeanIou].low));
  EXPECT_TRUE(std::isnan(paired_differences(one, one, kHow)[kMeanIou].p));
}

TEST(Resampling, AModelDoesNotDifferFromItself) {
  const std::vector<ImageCounts> images = images_around(30, 6, 50, 2);
  const PairedDifference same = paired_differences(images, images, kHow)[kMeanIou];
  EXPECT_EQ(same.value, 0);
  EXPECT_EQ(same.p, 1);
}

// Images vary much more than the models differ: only the comparison in pairs can see it.
TEST(Resampling, ASmallDifferenceOnEveryImageIsSeenInPairs) {
  const std::vector<ImageCounts> first = images_around(25, 8, 100, 4);
  std::vector<ImageCounts> second;
  for (const ImageCounts& one : first) second.push_back(image(std::min<int64_t>(50, one[0].second.tp + 1)));
  const PairedDifference found = paired_differences(first, second, kHow)[kPixelAccuracy];
  EXPECT_NEAR(found.value, 0.01, 1e-3);
  EXPECT_LT(found.p, 1e-3);
  EXPECT_GT(found.interval.low, 0);
  EXPECT_LT(metric_intervals(first, kHow)[kPixelAccuracy].low, metric_intervals(second, kHow)[kPixelAccuracy].low);
}

// Of four images all ways to exchange them are 16, two of which give the largest difference: p is 1/8.
TEST(Resampling, FewImagesCannotBeSure) {
  const std::vector<ImageCounts> first = {image(10), image(20), image(30), image(40)};
  const std::vector<ImageCounts> second = {image(12), image(22), image(32), image(42)};
  EXPECT_NEAR(paired_differences(first, second, kHow)[kPixelAccuracy].p, 0.125, 0.02);
}

// Models that are equally good are called different as often as the level says.
TEST(Resampling, NoiseIsTakenForADifferenceAsRarelyAsPSays) {
  int called = 0;
  constexpr int kPairs = 400;
  for (int pair = 0; pair < kPairs; ++pair) {
    const auto seed = static_cast<uint64_t>(pair);
    const std::vector<ImageCounts> first = images_around(30, 6, 30, 100 + 2 * seed),
                                   second = images_around(30, 6, 30, 101 + 2 * seed);
    called += paired_differences(first, second, {.num_classes = 2, .rounds = 400, .seed = seed})[kPixelAccuracy].p <= 0.05;
  }
  EXPECT_NEAR(called, 0.05 * kPairs, 3 * std::sqrt(0.05 * 0.95 * kPairs));
}

TEST(Resampling, HolmsOrder) {
  const std::vector<double> adjusted = holm_adjusted({0.04, 0.01, std::nan(""), 0.03});
  EXPECT_DOUBLE_EQ(adjusted[1], 0.03);  // 3 x 0.01
  EXPECT_DOUBLE_EQ(adjusted[3], 0.06);  // 2 x 0.03
  EXPECT_DOUBLE_EQ(adjusted[0], 0.06);  // 1 x 0.04, but not below the one before
  EXPECT_TRUE(std::isnan(adjusted[2]));
}

}  // namespace
}  // namespace tessera
