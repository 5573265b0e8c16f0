#include "data/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace tessera {
namespace {

TEST(Sampler, EpochHoldsEverySampleAndBatchesAreWhole) {
  Sampler sampler(10, 4, 7);
  ASSERT_EQ(sampler.batches_per_epoch(), 3);
  std::map<int64_t, int> seen;
  for (int64_t step = 0; step < 3; ++step) {
    const auto batch = sampler.batch(step);
    ASSERT_EQ(batch.size(), 4U);
    for (const int64_t index : batch) ++seen[index];
  }
  EXPECT_EQ(seen.size(), 10U);  // 12 places for 10 samples: two come twice
  EXPECT_EQ(std::count_if(seen.begin(), seen.end(), [](auto& e) { return e.second == 2; }), 2);
}

TEST(Sampler, OrderIsAFunctionOfSeedAndEpochWhereverOneStarts) {
  Sampler forwards(100, 8, 3), random_access(100, 8, 3), other_seed(100, 8, 4);
  std::vector<std::vector<int64_t>> all;
  for (int64_t step = 0; step < 40; ++step) all.push_back(forwards.batch(step));
  for (const int64_t step : {39, 0, 17, 13, 12}) EXPECT_EQ(random_access.batch(step), all[static_cast<size_t>(step)]);
  EXPECT_NE(all[0], all[13]);  // step 13 opens epoch 1
  EXPECT_NE(other_seed.batch(0), all[0]);
}

TEST(Sampler, BatchLargerThanTheDataRepeatsIt) {
  Sampler sampler(3, 8, 1);
  EXPECT_EQ(sampler.batches_per_epoch(), 1);
  EXPECT_EQ(sampler.batch(0).size(), 8U);
}

TEST(Sampler, DrawsDistinctSamplesToShow) {
  std::vector<int64_t> hits(20);
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const std::vector<int64_t> drawn = draw_distinct(20, 12, Rng(seed, Stream::kSelect));
    ASSERT_EQ(drawn.size(), 12U);
    EXPECT_EQ(std::adjacent_find(drawn.begin(), drawn.end(), std::greater_equal<>()), drawn.end());
    for (const int64_t index : drawn) ++hits.at(static_cast<size_t>(index));
  }
  for (const int64_t count : hits) EXPECT_NEAR(static_cast<double>(count), 120, 35);  // five standard deviations
  EXPECT_EQ(draw_distinct(3, 12, Rng(1, Stream::kSelect)), (std::vector<int64_t>{0, 1, 2}));
}

}  // namespace
}  // namespace tessera
