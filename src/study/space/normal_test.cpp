#include "study/space/normal.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera {
namespace {

TEST(Normal, QuantileIsTheInverseOfTheDistribution) {
  const auto quantile = [](double p) { return normal_quantile_between(p, -100, 100); };  // there is nothing beyond
  EXPECT_NEAR(quantile(0.975), 1.959963984540054, 1e-14);
  EXPECT_NEAR(quantile(1e-300), -37.0470962993612, 1e-9);
  for (const double p : {1e-12, 0.001, 0.3, 0.5, 0.9}) EXPECT_NEAR(normal_cdf(quantile(p)), p, 1e-15);
}

TEST(Normal, MassFarOutIsNotLost) {
  EXPECT_NEAR(normal_log_mass(-1, 1), std::log(0.6826894921370859), 1e-14);
  EXPECT_NEAR(normal_log_mass(30, 31), -454.3212439563127,
              1e-9);  // below the smallest double: exp(-454) is not, but 1 - cdf(30) is 0
  EXPECT_DOUBLE_EQ(normal_log_mass(30, 31), normal_log_mass(-31, -30));
}

TEST(Normal, QuantileBetweenStaysThere) {
  EXPECT_DOUBLE_EQ(normal_quantile_between(0, -1, 2), -1);
  EXPECT_NEAR(normal_quantile_between(1, -1, 2), 2, 1e-14);
  EXPECT_NEAR(normal_quantile_between(0.5, -1, 1), 0, 1e-14);
  const double far = normal_quantile_between(0.5, 30, 31);
  EXPECT_NEAR(normal_log_mass(30, far) - normal_log_mass(30, 31), std::log(0.5), 1e-9);
}

}  // namespace
}  // namespace tessera
