#include "data/transforms/scale_jitter.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "support/samples.h"

namespace tessera {
namespace {

Size jittered(Size from, ScaleJitterConfig config, uint64_t n = 0) {
  Sample sample = testing::numbered_sample(from);
  ScaleJitter(config).apply(sample, testing::test_rng(n));
  return sample.image.size();
}

ScaleJitterConfig fixed(double factor, Size base, bool keep_ratio, JitterSide side = JitterSide::kFit) {
  ScaleJitterConfig config;
  config.min = config.max = factor;
  config.base = base;
  config.keep_ratio = keep_ratio;
  config.side = side;
  return config;
}

TEST(ScaleJitter, FactorsOfOneValueAreExact) {
  EXPECT_EQ(jittered({40, 60}, fixed(0.5, {0, 0}, true)), (Size{20, 30}));
  EXPECT_EQ(jittered({40, 60}, fixed(0.5, {50, 50}, false)), (Size{25, 25}));
  EXPECT_EQ(jittered({40, 60}, fixed(2, {30, 30}, true, JitterSide::kLong)), (Size{40, 60}));
  EXPECT_EQ(jittered({40, 60}, fixed(2, {30, 30}, true, JitterSide::kShort)), (Size{60, 90}));
  EXPECT_EQ(jittered({40, 60}, fixed(1, {20, 80}, true)), (Size{20, 30}));
  EXPECT_EQ(jittered({60, 40}, fixed(1, {20, 80}, true)), (Size{30, 20}));  // upright photos likewise
  EXPECT_EQ(jittered({10, 100}, fixed(1, {20, 80}, true)), (Size{8, 80}));
}

TEST(ScaleJitter, StaysInItsRange) {
  ScaleJitterConfig config;
  int small = 100, large = 0;
  for (uint64_t n = 0; n < 200; ++n) {
    const Size size = jittered({32, 32}, config, n);
    EXPECT_EQ(size.height, size.width);
    small = std::min(small, size.height);
    large = std::max(large, size.height);
  }
  EXPECT_GE(small, 16);
  EXPECT_LE(small, 18);
  EXPECT_GE(large, 62);
  EXPECT_LE(large, 64);
}

TEST(ScaleJitter, RejectsAnEmptyRange) {
  ScaleJitterConfig config;
  config.min = 3;
  EXPECT_THROW(ScaleJitter{config}, Error);
}

}  // namespace
}  // namespace tessera
