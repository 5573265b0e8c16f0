#include "core/new_file.h"

#include <grp.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "core/error.h"
#include "core/files.h"
#include "support/fixtures.h"
#include "support/messages.h"

namespace tessera {
namespace {

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  return names;
}

TEST(NewFile, NothingThatWasPlantedIsWrittenThrough) {
  const testing::TempFolder folder;
  write_file(folder / "victim", std::string_view("mine"));
  fs::create_symlink("victim", folder / "a.png.tmp");
  write_file(folder / "a.png", std::string_view("picture"));
  EXPECT_EQ(read_text(folder / "victim"), "mine");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(folder / "a.png")));
}

TEST(NewFile, GoesUnlessItIsMoved) {
  const testing::TempFolder folder;
  {
    NewFile file(folder / "a", Access::kUmask);
    file.write(std::span(reinterpret_cast<const uint8_t*>("half"), 4));
    EXPECT_EQ(names_in(folder.path()).size(), 1U);
  }
  EXPECT_TRUE(names_in(folder.path()).empty());
  fs::create_directory(folder / "taken");
  write_file(folder / "taken/x", std::string_view(""));
  EXPECT_CONTAINS(testing::message_of([&] { write_file(folder / "taken", std::string_view("x")); }), "cannot write ");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"taken"});
}

TEST(NewFile, TwoWritersOfOnePathDoNotMeet) {
  const testing::TempFolder folder;
  const std::string one(1 << 20, '1'), two(1 << 20, '2');
  const auto write_often = [&](const std::string& content) {
    for (int i = 0; i < 10; ++i) write_file(folder / "shared", std::string_view(content));
  };
  std::thread other([&] { write_often(one); });
  write_often(two);
  other.join();
  const std::string left = read_text(folder / "shared");
  EXPECT_TRUE(left == one || left == two);
  EXPECT_EQ(names_in(folder.path()).size(), 1U);
}

TEST(NewFile, PermissionsOfAFileThatIsReplacedStay) {
  const testing::TempFolder folder;
  write_file(folder / "a", std::string_view("1"), Access::kPrivate);
  write_file(folder / "a", std::string_view("2"));
  struct stat info {};
  ASSERT_EQ(::stat((folder / "a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST(Leftovers, GoWhenNobodyWritesThemAnyMore) {
  const testing::TempFolder folder;
  for (const char* name : {".tessera-0123456789abcdef.tmp", ".tessera-0123456789abcdeX.tmp", "x.tmp", ".hidden"})
    write_file(folder / name, std::string_view("x"));
  fs::create_symlink("x.tmp", folder / ".tessera-00000000000000ff.tmp");
  NewFile alive(folder / "alive", Access::kUmask);
  remove_leftovers(folder.path());
  EXPECT_FALSE(fs::exists(folder / ".tessera-0123456789abcdef.tmp"));
  EXPECT_EQ(names_in(folder.path()).size(), 5U);
  EXPECT_NO_THROW(alive.move_to_target());
  EXPECT_NO_THROW(remove_leftovers(folder / "not there"));
}

TEST(NewFolder, IsAlwaysNew) {
  const testing::TempFolder folder;
  const fs::path one = make_new_folder(folder.path(), ".writing-", Access::kPrivate);
  const fs::path two = make_new_folder(folder.path(), ".writing-", Access::kPrivate);
  EXPECT_NE(one, two);
  EXPECT_TRUE(fs::is_directory(one) && fs::is_directory(two));
  EXPECT_CONTAINS(testing::message_of([&] { make_new_folder(folder / "none", "x", Access::kUmask); }),
                  "cannot make the folder");
}

TEST(OwnFile, IsGoneOnWithAndNothingElseIs) {
  const testing::TempFolder folder;
  write_file(folder / "own", std::string_view("part"));
  ASSERT_TRUE(open_own_file(folder / "own", Access::kUmask).ok());
  EXPECT_EQ(read_text(folder / "own"), "part");
  write_file(folder / "victim", std::string_view("mine"));
  fs::create_symlink("victim", folder / "link");
  fs::create_hard_link(folder / "victim", folder / "second name");
  for (const char* name : {"link", "second name", "new"}) {
    const Descriptor file = open_own_file(folder / name, Access::kUmask);
    ASSERT_TRUE(file.ok()) << name;
    EXPECT_EQ(::write(file.get(), "new", 3), 3);
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(folder / name))) << name;
    EXPECT_EQ(read_text(folder / name), "new");
  }
  EXPECT_EQ(read_text(folder / "victim"), "mine");
}

TEST(FollowLinks, OtherUsersLinksInSharedFoldersAreRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: links of another user are made here";
  constexpr uid_t kSomebody = 12345;
  const testing::TempFolder folder;
  write_file(folder / "victim", std::string_view("mine"));
  fs::create_symlink("victim", folder / "link");
  fs::create_symlink("link", folder / "own");
  ASSERT_EQ(::lchown((folder / "link").c_str(), kSomebody, kSomebody), 0);
  write_file(folder / "link", std::string_view("first"));  // nobody else can put a link into this folder
  EXPECT_EQ(read_text(folder / "victim"), "first");
  for (const mode_t mode : {01777U, 0770U}) {
    ASSERT_EQ(::chmod(folder.path().c_str(), mode), 0);
    for (const char* name : {"link", "own"}) {
      EXPECT_CONTAINS(testing::message_of([&] { write_file(folder / name, std::string_view("second")); }),
                      "link: it is a link of another user (uid 12345)");
    }
  }
  EXPECT_EQ(read_text(folder / "victim"), "first");
}

}  // namespace
}  // namespace tessera
