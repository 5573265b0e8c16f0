#include "core/file_lock.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "support/fixtures.h"

namespace tessera {
namespace {

TEST(FileLock, OneAtATimeHoldsIt) {
  const testing::TempFolder folder;
  FileLock other(folder / "lock", "");
  {
    FileLock lock(folder / "lock", "");
    ASSERT_TRUE(lock.try_lock());
    lock.sign("a longer text");
    lock.sign("me");
    EXPECT_FALSE(other.try_lock());
    EXPECT_EQ(other.signature(), "me");
  }
  EXPECT_TRUE(other.try_lock());
}

TEST(FileLock, SaysWhereItCannotBe) {
  EXPECT_THROW(FileLock("/no/such/folder/lock", "choose another"), Error);
}

}  // namespace
}  // namespace tessera
