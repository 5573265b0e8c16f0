#include "data/batch/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace tessera {
namespace {

TEST(Sampler, EpochHoldsEverySampleAndBatchesAreWhole) {
  Sampler sampler(10, 4, 7);
  ASSERT_EQ(sampler.batches_per_epoch(), 3);
  std::map<int64_t, int> seen;
  for (int64_t step = 0; step < 3; ++step) {
    const auto batch = sampler.batch(step);
    ASSERT_EQ(batch.size(), 4U);
    for (const Pick& pick : batch) ++seen[pick.index];
  }
  EXPECT_EQ(seen.size(), 10U);  // 12 places for 10 samples: two come twice
  EXPECT_EQ(std::count_if(seen.begin(), seen.end(), [](auto& e) { return e.second == 2; }), 2);
}

TEST(Sampler, OrderIsAFunctionOfSeedAndEpochWhereverOneStarts) {
  Sampler forwards(100, 8, 3), random_access(100, 8, 3), other_seed(100, 8, 4);
  std::vector<std::vector<Pick>> all;
  for (int64_t step = 0; step < 40; ++step) all.push_back(forwards.batch(step));
  for (const int64_t step : {39, 0, 17, 13, 12}) EXPECT_EQ(random_access.batch(step), all[step]);
  EXPECT_NE(all[0], all[13]);  // step 13 opens epoch 1
  EXPECT_NE(other_seed.batch(0), all[0]);
}

TEST(Sampler, BatchLargerThanTheDataRepeatsItUnderOtherDraws) {
  Sampler sampler(3, 8, 1);
  EXPECT_EQ(sampler.batches_per_epoch(), 1);
  const std::vector<Pick> batch = sampler.batch(0);
  ASSERT_EQ(batch.size(), 8U);
  std::set<int64_t> draws;
  for (size_t i = 0; i < batch.size(); ++i) {
    EXPECT_EQ(batch[i].index, batch[i % 3].index);
    EXPECT_EQ(batch[i].draw, batch[i].index + static_cast<int64_t>(i / 3) * 3);
    draws.insert(batch[i].draw);
  }
  EXPECT_EQ(draws.size(), 8U);
}

// 17 samples in batches of 16: the second step holds 15 samples of the first again.
TEST(Sampler, NoTwoPlacesOfAnEpochHaveOneDraw) {
  Sampler sampler(17, 16, 1);
  std::set<int64_t> draws;
  int64_t first_times = 0;
  for (int64_t step = 0; step < 2; ++step) {
    for (const Pick& pick : sampler.batch(step)) {
      draws.insert(pick.draw);
      first_times += pick.draw == pick.index ? 1 : 0;
    }
  }
  EXPECT_EQ(draws.size(), 32U);
  EXPECT_EQ(first_times, 17);  // a sample that comes once has the draw it always had
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
