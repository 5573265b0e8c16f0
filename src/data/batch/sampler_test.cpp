#include "data/batch/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
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

std::map<int64_t, int64_t> times_in_epoch(Sampler& sampler, int64_t epoch, int64_t places, int64_t batch_size) {
  std::map<int64_t, int64_t> times;
  for (int64_t place = 0; place < places; ++place) {
    const int64_t step = epoch * sampler.batches_per_epoch() + place / batch_size;
    ++times[sampler.batch(step)[static_cast<size_t>(place % batch_size)].index];
  }
  return times;
}

// 0.5, 0.3, 0.17 and 0.03 of 4 places: 2, 1.2, 0.68 and 0.12, each rounded up or down, and right in the mean.
TEST(Sampler, ChancesDecideHowOftenASampleComes) {
  const std::vector<double> chances{0.5, 0.3, 0.17, 0.03};
  Sampler sampler(4, 2, 9, {}, chances);
  std::vector<int64_t> sums(4);
  constexpr int64_t kEpochs = 2000;
  for (int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    auto times = times_in_epoch(sampler, epoch, 4, 2);
    for (int64_t i = 0; i < 4; ++i) {
      const double expected = 4 * chances[static_cast<size_t>(i)];
      EXPECT_GE(times[i], static_cast<int64_t>(expected));
      EXPECT_LE(times[i], static_cast<int64_t>(std::ceil(expected)));
      sums[static_cast<size_t>(i)] += times[i];
    }
  }
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(static_cast<double>(sums[i]) / kEpochs, 4 * chances[i], 0.06);  // five deviations
}

TEST(Sampler, OrderByChancesIsAFunctionOfSeedAndEpochToo) {
  const std::vector<double> chances{0.4, 0.1, 0.05, 0.05, 0.1, 0.3};
  Sampler forwards(6, 4, 3, {}, chances), random_access(6, 4, 3, {}, chances);
  std::vector<std::vector<Pick>> all;
  for (int64_t step = 0; step < 20; ++step) all.push_back(forwards.batch(step));
  for (const int64_t step : {19, 0, 7, 12, 3}) EXPECT_EQ(random_access.batch(step), all[static_cast<size_t>(step)]);
  std::set<std::pair<int64_t, int64_t>> draws;  // of epoch 0: six places, and two that fill the second batch
  for (size_t step : {0, 1}) {
    for (const Pick& pick : all[step]) {
      EXPECT_EQ(pick.draw % 6, pick.index);
      draws.insert({pick.index, pick.draw});
    }
  }
  EXPECT_EQ(draws.size(), 8U);
}

TEST(Sampler, EqualChancesAreEachSampleOnceInTheUsualOrder) {
  Sampler usual(50, 8, 3), equal(50, 8, 3, {}, std::vector<double>(50, 1.0 / 50));
  for (int64_t step = 0; step < 30; ++step) EXPECT_EQ(equal.batch(step), usual.batch(step));
}

// Samples of one shard stay together, however often they come.
TEST(Sampler, ChancesKeepTheOrderOfShards) {
  constexpr int64_t kShard = 10, kShards = 6;
  ShardReading shards{.starts = {}, .block = 1, .ahead = 0};  // a block is one shard
  std::vector<double> chances;
  for (int64_t s = 0; s < kShards; ++s) {
    shards.starts.push_back(s * kShard);
    for (int64_t i = 0; i < kShard; ++i) chances.push_back(s == 2 ? 0 : (i == 0 ? 5.5 : 0.5) / (kShards - 1) / kShard);
  }
  Sampler sampler(kShard * kShards, 1, 4, shards, chances);
  std::vector<int64_t> runs;  // of shards
  for (int64_t step = 0; step < kShard * kShards; ++step) {
    const int64_t shard = sampler.batch(step)[0].index / kShard;
    if (runs.empty() || runs.back() != shard) runs.push_back(shard);
  }
  EXPECT_EQ(runs.size(), static_cast<size_t>(kShards - 1));  // the third one has no chance
  EXPECT_EQ(std::count(runs.begin(), runs.end(), 2), 0);
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
