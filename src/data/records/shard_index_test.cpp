#include "data/records/shard_index.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "support/cache_folder.h"
#include "support/fixtures.h"

namespace tessera {
namespace {

const ShardIdentity kShard{"/data/a.tar", "tar jpg png", 1000, 77};
const ShardIndex kIndex{900, {{"one", 0, 500}, {"", 512, 300}}};

fs::path only_file(const fs::path& folder) {
  const std::vector<fs::path> files = list_files(folder);
  EXPECT_EQ(files.size(), 1U);
  return files.at(0);
}

TEST(ShardIndexTest, IsKeptForOneShardAlone) {
  const testing::OwnCache cache;
  EXPECT_FALSE(load_shard_index(kShard).has_value());
  keep_shard_index(kShard, kIndex);
  const auto kept = load_shard_index(kShard);
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(kept->shard_bytes, 900U);
  ASSERT_EQ(kept->places.size(), 2U);
  EXPECT_EQ(kept->places[0].id, "one");
  EXPECT_EQ(kept->places[1].offset, 512U);
  EXPECT_EQ(kept->places[1].size, 300U);
  for (const ShardIdentity& other :
       {ShardIdentity{"/data/b.tar", "tar jpg png", 1000, 77}, ShardIdentity{"/data/a.tar", "tar jpg", 1000, 77},
        ShardIdentity{"/data/a.tar", "tar jpg png", 1001, 77}, ShardIdentity{"/data/a.tar", "tar jpg png", 1000, 78}})
    EXPECT_FALSE(load_shard_index(other).has_value()) << other.place << other.format << other.size;
}

TEST(ShardIndexTest, ADamagedOneIsNone) {
  const testing::OwnCache cache;
  keep_shard_index(kShard, kIndex);
  const fs::path file = only_file(cache.path());
  const std::vector<uint8_t> whole = read_bytes(file);
  for (size_t i = 0; i < whole.size(); ++i) {
    std::vector<uint8_t> changed = whole;
    changed[i] ^= 1;
    write_file(file, std::span<const uint8_t>(changed));
    EXPECT_FALSE(load_shard_index(kShard).has_value()) << i;
    write_file(file, std::span<const uint8_t>(whole).first(i));
    EXPECT_FALSE(load_shard_index(kShard).has_value()) << i;
  }
}

TEST(ShardIndexTest, WhereNothingCanBeKeptNothingIs) {
  const testing::OwnCache cache;
  write_file(cache.path() / "shard-indices", "a file in the place of the folder");
  keep_shard_index(kShard, kIndex);
  EXPECT_FALSE(load_shard_index(kShard).has_value());
}

}  // namespace
}  // namespace tessera
