#include "storage/part_list.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "support/fixtures.h"

namespace tessera {
namespace {

constexpr auto kAccess = Access::kUmask;

TEST(PartList, RemembersWhatWasNoted) {
  const testing::TempFolder folder;
  {
    PartList parts(folder / "p", "\"mark\"", 25, 10, kAccess);
    ASSERT_EQ(parts.count(), 3);
    EXPECT_EQ(parts.take(), 0);
    EXPECT_EQ(parts.take(), 1);
    EXPECT_EQ(parts.take(), 2);
    EXPECT_EQ(parts.take(), std::nullopt);
    parts.note(2);
    parts.give_back(0);
    EXPECT_EQ(parts.take(), 0) << "what was given back may be taken by another";
  }
  PartList parts(folder / "p", "\"mark\"", 25, 10, kAccess);
  EXPECT_EQ(parts.bytes_there(), 5) << "the last part is short; what was only taken is not there";
  parts.note(0);
  EXPECT_EQ(PartList(folder / "p", "\"mark\"", 25, 10, kAccess).bytes_there(), 15);
}

TEST(PartList, OfAnotherFileNothingIsThere) {
  const testing::TempFolder folder;
  PartList(folder / "p", "one", 25, 10, kAccess).note(1);
  EXPECT_EQ(PartList(folder / "p", "two", 25, 10, kAccess).bytes_there(), 0);
  PartList(folder / "p", "one", 25, 10, kAccess).note(1);
  EXPECT_EQ(PartList(folder / "p", "one", 26, 10, kAccess).bytes_there(), 0);
}

// A process may be killed in the middle of a line: neither it nor what the next one writes behind it may be taken for another
// part.
TEST(PartList, ATornLineIsNoPart) {
  const testing::TempFolder folder;
  PartList(folder / "p", "m", 1'000'000, 10, kAccess).note(12345);
  const std::string whole = read_text(folder / "p");
  for (size_t size = whole.size() - 10; size < whole.size(); ++size) {
    write_file(folder / "p", whole.substr(0, size));
    PartList parts(folder / "p", "m", 1'000'000, 10, kAccess);
    EXPECT_EQ(parts.bytes_there(), 0) << size;
    parts.note(77);
    PartList again(folder / "p", "m", 1'000'000, 10, kAccess);
    EXPECT_EQ(again.bytes_there(), size + 1 == whole.size() ? 20 : 10) << size;
  }
}

}  // namespace
}  // namespace tessera
