#include "report/decimate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

bool holds(const std::vector<size_t>& kept, size_t index) {
  return std::find(kept.begin(), kept.end(), index) != kept.end();
}

TEST(Decimate, KeepsShortSeriesWhole) {
  EXPECT_TRUE(decimate({}, 2000).empty());
  EXPECT_EQ(decimate(std::vector<double>{3, 1, 2}, 2000), (std::vector<size_t>{0, 1, 2}));
}

TEST(Decimate, KeepsEndsAndSpikesWithinTheLimit) {
  std::vector<double> values(100'000, 1.0);
  values[12'345] = 50;
  values[12'346] = -50;
  values[77'777] = 9;
  const auto kept = decimate(values, 2000);
  EXPECT_LE(kept.size(), 2000U);
  EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
  EXPECT_EQ(std::adjacent_find(kept.begin(), kept.end()), kept.end());
  for (const size_t index : {size_t{0}, size_t{12'345}, size_t{12'346}, size_t{77'777}, values.size() - 1}) {
    EXPECT_TRUE(holds(kept, index)) << index;
  }
}

TEST(Decimate, KeepsValuesThatAreNotFinite) {
  std::vector<double> values(50'000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<double>(i));
  values[20'000] = NAN;
  values[30'000] = INFINITY;
  const auto kept = decimate(values, 2000);
  EXPECT_LE(kept.size(), 2000U);
  EXPECT_TRUE(holds(kept, 20'000));
  EXPECT_TRUE(holds(kept, 30'000));
  EXPECT_LE(decimate(std::vector<double>(50'000, NAN), 2000).size(), 2000U);
}

TEST(Smooth, WeighsBothSidesAndPassesOverNan) {
  // window 3: weights 1, 1/2, 1/4 by distance, the NaN not counted as one
  const auto result = smooth(std::vector<double>{1, NAN, 4, 7}, 3);
  EXPECT_DOUBLE_EQ(result[0], (1 + 4 / 2.0 + 7 / 4.0) / 1.75);
  EXPECT_TRUE(std::isnan(result[1]));
  EXPECT_DOUBLE_EQ(result[2], (1 / 2.0 + 4 + 7 / 2.0) / 2);
  EXPECT_DOUBLE_EQ(result[3], (1 / 4.0 + 4 / 2.0 + 7) / 1.75);
}

TEST(Smooth, DoesNotLagBehindASlope) {
  std::vector<double> slope(1001);
  for (size_t i = 0; i < slope.size(); ++i) slope[i] = static_cast<double>(i);
  EXPECT_NEAR(smooth(slope, 50)[500], 500, 1e-6);
}

TEST(Smooth, WindowOfOneChangesNothing) {
  EXPECT_EQ(smooth(std::vector<double>{5, 7, 1}, 1), (std::vector<double>{5, 7, 1}));
}

}  // namespace
}  // namespace tessera
