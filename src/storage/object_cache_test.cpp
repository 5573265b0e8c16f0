#include "storage/object_cache.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "core/files.h"
#include "support/fixtures.h"
#include "support/messages.h"

namespace tessera {
namespace {

std::vector<uint8_t> bytes_of(size_t count, uint8_t value) {
  return std::vector<uint8_t>(count, value);
}

void put(ObjectCache& cache, const std::string& key, const std::vector<uint8_t>& content, const std::string& mark = "\"m\"") {
  CacheDraft draft(cache, key, static_cast<int64_t>(content.size()), "s3://b/" + key);
  draft.write(content);
  draft.finish(mark);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));  // times of files are as coarse as the system's tick
}

int64_t bytes_in(const fs::path& folder) {
  int64_t sum = 0;
  for (const auto& entry : fs::directory_iterator(folder)) sum += static_cast<int64_t>(entry.file_size());
  return sum;
}

TEST(ObjectCache, GivesBackWhatWasPutAndItsMark) {
  testing::TempFolder folder;
  ObjectCache cache(folder / "data", 1 << 20);
  EXPECT_FALSE(cache.find("a", /*check=*/true));
  put(cache, "a", bytes_of(1000, 7), "\"etag-1\"");
  put(cache, "empty", {}, "");
  const auto found = cache.find("a", /*check=*/true);
  ASSERT_TRUE(found);
  EXPECT_EQ(std::vector<uint8_t>(found->content.bytes.begin(), found->content.bytes.end()), bytes_of(1000, 7));
  EXPECT_EQ(found->mark, "\"etag-1\"");
  ASSERT_TRUE(cache.find("empty", /*check=*/true));
  EXPECT_EQ(cache.find("empty", /*check=*/true)->content.size(), 0U);
}

TEST(ObjectCache, WhatWasUnusedForLongestGoesAndStaysReadableForWhoHasIt) {
  testing::TempFolder folder;
  ObjectCache cache(folder / "data", 3 * 100'000);
  put(cache, "a", bytes_of(80'000, 1));
  put(cache, "b", bytes_of(80'000, 2));
  put(cache, "c", bytes_of(80'000, 3));
  const auto held = cache.find("b", /*check=*/true);
  const auto used = cache.find("a", /*check=*/true);
  ASSERT_TRUE(held && used);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  cache.find("a", /*check=*/true);  // again, after b
  put(cache, "d", bytes_of(80'000, 4));
  EXPECT_TRUE(cache.holds("a"));
  EXPECT_FALSE(cache.holds("c"));
  put(cache, "e", bytes_of(80'000, 5));
  EXPECT_FALSE(cache.holds("b"));
  EXPECT_EQ(held->content.bytes[79'999], 2);
  EXPECT_LE(bytes_in(folder / "data"), 3 * 100'000);
}

TEST(ObjectCache, ADraftThatIsNotFinishedLeavesNothing) {
  testing::TempFolder folder;
  ObjectCache cache(folder / "data", 1 << 20);
  {
    CacheDraft draft(cache, "a", 1000, "s3://b/a");
    draft.write(bytes_of(500, 1));
    EXPECT_FALSE(cache.holds("a"));
    EXPECT_GE(bytes_in(folder / "data"), 1000);  // others see the room it needs
  }
  EXPECT_FALSE(cache.holds("a"));
  EXPECT_LT(bytes_in(folder / "data"), 200);
  CacheDraft draft(cache, "a", 1000, "s3://b/a");
  EXPECT_CONTAINS(testing::message_of([&] { draft.write(bytes_of(1001, 1)); }), "more than the 1000 bytes");
}

TEST(ObjectCache, DamagedFilesAreNeverGivenOut) {
  testing::TempFolder folder;
  ObjectCache cache(folder / "data", 1 << 20);
  const auto damage = [&](auto change) {
    put(cache, "a", bytes_of(1000, 7));
    std::vector<uint8_t> bytes = read_bytes(cache.path_of("a"));
    change(bytes);
    write_file(cache.path_of("a"), bytes);
    EXPECT_FALSE(cache.find("a", /*check=*/true));
    EXPECT_FALSE(cache.holds("a"));
  };
  damage([](auto& bytes) { bytes[500] ^= 1; });
  damage([](auto& bytes) { bytes.resize(bytes.size() - 1); });
  damage([](auto& bytes) { bytes.resize(3); });
  damage([](auto& bytes) { bytes.clear(); });
  damage([](auto& bytes) { bytes.erase(bytes.begin()); });
  damage([](auto& bytes) { std::fill(bytes.end() - 16, bytes.end() - 8, 0xff); });
}

TEST(ObjectCache, WhatCanNeverHaveRoomIsRefused) {
  testing::TempFolder folder;
  ObjectCache cache(folder / "data", 10'000);
  EXPECT_CONTAINS(testing::message_of([&] { put(cache, "a", bytes_of(20'000, 1)); }), "data.remote.cache_limit");
  CacheDraft unknown(cache, "b", -1, "s3://b/b");
  unknown.write(bytes_of(9000, 1));
  EXPECT_CONTAINS(testing::message_of([&] { unknown.write(bytes_of(9000, 1)); }), "data.remote.cache_limit");
}

TEST(ObjectCache, KeysDifferByPlaceAndName) {
  EXPECT_NE(ObjectCache::key_of("s3://a", "x"), ObjectCache::key_of("s3://a/x", ""));
  EXPECT_NE(ObjectCache::key_of("s3://a", "x"), ObjectCache::key_of("s3://b", "x"));
  EXPECT_EQ(ObjectCache::key_of("s3://a", "../../x").find('/'), std::string::npos);
}

}  // namespace
}  // namespace tessera
