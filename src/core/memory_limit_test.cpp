#include "core/memory_limit.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/files.h"
#include "support/fixtures.h"

namespace tessera {
namespace {

TEST(MemoryLimit, TheLeastOfAGroupAndThoseAboveItHolds) {
  const testing::TempFolder root;
  make_folders(root / "job/step");
  make_folders(root / "memory/old");
  const auto put = [&](const char* file, const char* text) { write_file(root / file, std::string_view(text)); };
  put("job/memory.max", "3000\n");
  put("job/step/memory.max", "max\n");
  EXPECT_EQ(group_memory_limit(root.path(), "0::/job/step\n"), 3000);
  put("job/step/memory.max", "2000\n");
  EXPECT_EQ(group_memory_limit(root.path(), "0::/job/step\n"), 2000);
  put("memory/old/memory.limit_in_bytes", "1000\n");
  EXPECT_EQ(group_memory_limit(root.path(), "4:cpu,memory:/old\n0::/job\n"), 1000);
  EXPECT_EQ(group_memory_limit(root.path(), "4:cpu:/old\n"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(group_memory_limit(root.path(), ""), std::numeric_limits<int64_t>::max());
}

TEST(GroupMemory, WhatIsLeftOfTheNarrowestLevel) {
  const testing::TempFolder root;
  make_folders(root / "job/step");
  make_folders(root / "memory/old/inner");
  const auto put = [&](const char* file, const char* text) { write_file(root / file, std::string_view(text)); };
  EXPECT_FALSE(GroupMemory(root.path(), "0::/job/step\n").limited());
  put("job/memory.max", "3000\n");
  put("job/memory.stat", "anon 2500\nfile 400\nshmem 100\n");
  put("job/step/memory.max", "2000\n");
  put("job/step/memory.stat", "anon 1000\nfile 900\nshmem 0\n");
  const GroupMemory two(root.path(), "0::/job/step\n");
  EXPECT_EQ(two.limit(), 2000);
  EXPECT_EQ(two.room(), 400);  // that of the level above
  put("job/memory.stat", "anon 2900\nfile 0\nshmem 200\n");
  EXPECT_EQ(two.room(), 0);
  put("memory/old/memory.limit_in_bytes", "1000\n");
  put("memory/old/inner/memory.limit_in_bytes", "9223372036854771712\n");
  put("memory/old/memory.stat", "cache 500\nrss 10\nshmem 20\ntotal_cache 500\ntotal_rss 300\ntotal_shmem 50\n");
  EXPECT_EQ(GroupMemory(root.path(), "4:memory:/old/inner\n").room(), 650);
}

TEST(MemoryLimit, IsNotMoreThanTheMachineHas) {
  EXPECT_GT(memory_limit(), 0);
  EXPECT_LE(memory_limit(), static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE));
}

}  // namespace
}  // namespace tessera
