#include "data/transforms/random_crop.h"

#include <gtest/gtest.h>

#include <set>

#include "support/samples.h"

namespace tessera {
namespace {

Sample cropped(Sample sample, RandomCropConfig config, uint64_t n = 0) {
  RandomCrop(config).apply(sample, testing::test_rng(n));
  return sample;
}

TEST(RandomCrop, EveryPlaceIsReachedAndMatchesThePixels) {
  const Sample whole = testing::numbered_sample({5, 6});
  std::set<std::pair<double, double>> places;
  for (uint64_t n = 0; n < 300; ++n) {
    const Sample crop = cropped(whole, {{3, 4}, 1.0, 10}, n);
    places.emplace(crop.placement.y, crop.placement.x);
    const int top = static_cast<int>(-crop.placement.y), left = static_cast<int>(-crop.placement.x);
    EXPECT_EQ(testing::pixel(crop.image, 2, 3, 1), testing::pixel(whole.image, top + 2, left + 3, 1));
    EXPECT_EQ(crop.labels->at(2, 3), whole.labels->at(top + 2, left + 3));
    EXPECT_FALSE(crop.placement.complete);
  }
  EXPECT_EQ(places.size(), 9U);
}

TEST(RandomCrop, SmallImagesArePadded) {
  const Sample crop = cropped(testing::numbered_sample({2, 9}), {{4, 4}, 1.0, 10});
  EXPECT_EQ(crop.image.size(), (Size{4, 4}));
  EXPECT_NE(crop.labels->at(1, 0), kIgnoreLabel);
  EXPECT_EQ(crop.labels->at(2, 0), kIgnoreLabel);
  EXPECT_TRUE(cropped(testing::numbered_sample({2, 3}), {{4, 4}, 1.0, 10}).placement.complete);
}

TEST(RandomCrop, DrawsAgainUntilTwoClassesAreBalanced) {
  // Class 1 only in the rightmost fifth: few windows hold it.
  Sample sample = testing::numbered_sample({20, 100});
  for (int y = 0; y < 20; ++y) {
    for (int x = 0; x < 100; ++x) sample.labels->at(y, x) = x >= 80 ? 1 : 0;
  }
  const auto balanced = [&](RandomCropConfig config) {
    int count = 0;
    for (uint64_t n = 0; n < 100; ++n) {
      const Sample crop = cropped(sample, config, n);
      const auto ones = std::count(crop.labels->labels.begin(), crop.labels->labels.end(), 1);
      if (ones > 80 && ones < 320) ++count;  // of 400: neither class has 80 %
    }
    return count;
  };
  const int once = balanced({{20, 20}, 0.8, 0}), often = balanced({{20, 20}, 0.8, 200});
  EXPECT_LT(once, 40);
  EXPECT_EQ(often, 100);
}

TEST(RandomCrop, OneClassImagesEndAfterTheRetries) {
  Sample sample = testing::numbered_sample({20, 20});
  std::fill(sample.labels->labels.begin(), sample.labels->labels.end(), int16_t{0});
  EXPECT_EQ(cropped(sample, {{5, 5}, 0.5, 3}).image.size(), (Size{5, 5}));
  std::fill(sample.labels->labels.begin(), sample.labels->labels.end(), kIgnoreLabel);
  EXPECT_EQ(cropped(sample, {{5, 5}, 0.5, 3}).image.size(), (Size{5, 5}));
}

TEST(RandomCrop, SameNumbersSameCrop) {
  const Sample whole = testing::numbered_sample({50, 60});
  EXPECT_EQ(cropped(whole, {{8, 8}, 0.75, 10}, 5).image.bytes(), cropped(whole, {{8, 8}, 0.75, 10}, 5).image.bytes());
  EXPECT_NE(cropped(whole, {{8, 8}, 0.75, 10}, 5).placement.x, cropped(whole, {{8, 8}, 0.75, 10}, 6).placement.x);
}

}  // namespace
}  // namespace tessera
