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

TEST(MemoryLimit, IsNotMoreThanTheMachineHas) {
  EXPECT_GT(memory_limit(), 0);
  EXPECT_LE(memory_limit(), static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE));
}

}  // namespace
}  // namespace tessera
