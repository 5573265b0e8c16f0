#include "report/axis_ticks.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

std::vector<std::string> texts(double low, double high) {
  std::vector<std::string> all;
  for (const double tick : nice_ticks(low, high)) all.push_back(tick_text(tick, nice_step(high - low)));
  return all;
}

TEST(AxisTicks, AreRoundAndTellOneFromAnother) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(texts(0, 1), (Texts{"0", "0.2", "0.4", "0.6", "0.8", "1.0"}));
  EXPECT_EQ(texts(-0.006, 0.24), (Texts{"0", "0.05", "0.10", "0.15", "0.20"}));
  EXPECT_EQ(texts(0.98413, 0.98447), (Texts{"0.9842", "0.9843", "0.9844"}));
  EXPECT_EQ(texts(-3, 12), (Texts{"0", "5", "10"}));
  EXPECT_EQ(texts(0, 2.8e-5), (Texts{"0", "5e-06", "1e-05", "1.5e-05", "2e-05", "2.5e-05"}));
}

}  // namespace
}  // namespace tessera
