#include "data/batch/shard_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace tessera {
namespace {

ShardReading shards_of(const std::vector<int64_t>& sizes, int64_t block) {
  ShardReading shards{.starts = {}, .block = block, .ahead = 0};
  int64_t at = 0;
  for (const int64_t size : sizes) {
    shards.starts.push_back(at);
    at += size;
  }
  return shards;
}

Rng rng_of(uint64_t epoch) {
  return {7, Stream::kOrder, epoch};
}

TEST(ShardOrder, EverySampleComesOnce) {
  for (const int64_t block : {1, 3, 25, 99, 100, 1000}) {
    std::vector<int64_t> order = shuffled_shards(100, shards_of({10, 1, 29, 30, 30}, block), rng_of(1));
    std::sort(order.begin(), order.end());
    std::vector<int64_t> all(100);
    std::iota(all.begin(), all.end(), int64_t{0});
    EXPECT_EQ(order, all) << block;
  }
}

// Ten shards of ten, in blocks of three: samples 0 to 29 of the order are those of three whole shards, and mixed.
TEST(ShardOrder, ABlockIsOfWholeShardsThatAreMixed) {
  const std::vector<int64_t> order = shuffled_shards(100, shards_of(std::vector<int64_t>(10, 10), 25), rng_of(0));
  for (size_t block = 0; block < 3; ++block) {
    std::set<int64_t> of_block;
    bool mixed = false;
    for (size_t i = 30 * block; i < 30 * (block + 1); ++i) {
      of_block.insert(order[i] / 10);
      mixed |= i > 30 * block && order[i] / 10 != order[i - 1] / 10 && of_block.size() == 3;
    }
    EXPECT_EQ(of_block.size(), 3U);
    EXPECT_TRUE(mixed);
  }
}

TEST(ShardOrder, DiffersFromEpochToEpoch) {
  const ShardReading shards = shards_of({10, 10, 10, 10}, 10);
  EXPECT_EQ(shuffled_shards(40, shards, rng_of(3)), shuffled_shards(40, shards, rng_of(3)));
  EXPECT_NE(shuffled_shards(40, shards, rng_of(3)), shuffled_shards(40, shards, rng_of(4)));
}

// Where all samples are mixed anyway it is the order of files: training from a folder and from its shards is the same.
TEST(ShardOrder, WithoutBlocksItIsThatOfFiles) {
  const std::vector<int64_t> files = shuffled(40, rng_of(2));
  EXPECT_EQ(shuffled_shards(40, shards_of({10, 30}, 0), rng_of(2)), files);
  EXPECT_EQ(shuffled_shards(40, shards_of({10, 30}, 40), rng_of(2)), files);
  EXPECT_EQ(shuffled_shards(40, shards_of({40}, 5), rng_of(2)), files);
  EXPECT_EQ(shuffled_shards(40, {}, rng_of(2)), files);
}

}  // namespace
}  // namespace tessera
