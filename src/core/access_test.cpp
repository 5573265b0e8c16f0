#include "core/access.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/files.h"
#include "support/fixtures.h"

namespace tessera {
namespace {

mode_t mode_of(const fs::path& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 0777U;
}

// The umask of this process while the object lives.
class Umask {
 public:
  explicit Umask(mode_t mask) : before_(::umask(mask)) {}
  ~Umask() { ::umask(before_); }

 private:
  mode_t before_;
};

TEST(Access, FilesAndFoldersAreForWhomItSays) {
  const testing::TempFolder folder;
  const auto made = [&](const std::string& name, Access access) {
    make_folders(folder / name / "deep", access);
    write_file(folder / name / "file", std::string_view("x"), access);
    return std::pair(mode_of(folder / name / "deep"), mode_of(folder / name / "file"));
  };
  const Umask usual(0022);
  EXPECT_EQ(made("umask", Access::kUmask), std::pair(mode_t{0755}, mode_t{0644}));
  EXPECT_EQ(made("group", Access::kGroup), std::pair(mode_t{0750}, mode_t{0640}));
  EXPECT_EQ(made("private", Access::kPrivate), std::pair(mode_t{0700}, mode_t{0600}));
  EXPECT_EQ(mode_of(folder / "private"), 0755U);  // those above are as the umask says
  {
    const Umask shares(0002);
    EXPECT_EQ(made("team", Access::kGroup), std::pair(mode_t{0770}, mode_t{0660}));
  }
  const Umask strict(0077);
  EXPECT_EQ(made("strict", Access::kUmask), std::pair(mode_t{0700}, mode_t{0600}));
  EXPECT_EQ(made("strict group", Access::kGroup), std::pair(mode_t{0700}, mode_t{0600}));
}

TEST(Access, AFolderThatWasArrangedForAGroupIsShared) {
  const testing::TempFolder folder;
  EXPECT_EQ(access_at(folder / "runs/new"), Access::kPrivate);
  ASSERT_EQ(::chmod(folder.path().c_str(), 02770), 0);
  EXPECT_EQ(access_at(folder / "runs/new"), Access::kGroup);
  EXPECT_EQ(access_at(folder.path()), Access::kGroup);
  ASSERT_EQ(::chmod(folder.path().c_str(), 02700), 0);
  EXPECT_EQ(access_at(folder / "runs/new"), Access::kPrivate);
}

TEST(Access, IsThatOfAFileThatIsThere) {
  const testing::TempFolder folder;
  const fs::path file = folder / "file";
  EXPECT_EQ(access_like(file), Access::kPrivate);
  write_file(file, std::string_view("x"));
  const std::pair<mode_t, Access> cases[] = {{0600, Access::kPrivate}, {0640, Access::kGroup}, {0644, Access::kUmask}};
  for (const auto& [mode, access] : cases) {
    ASSERT_EQ(::chmod(file.c_str(), mode), 0);
    EXPECT_EQ(access_like(file), access) << mode;
  }
}

}  // namespace
}  // namespace tessera
