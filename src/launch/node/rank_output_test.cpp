#include "launch/node/rank_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "core/error.h"
#include "support/fixtures.h"
#include "support/messages.h"

namespace tessera {
namespace {

// Writes `text` as a rank would.
void put(const fs::path& log, bool append, const std::string& text) {
  RankOutput output(0, log, append, Show::kNothing);
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const FileHandle from(ends[0]);
  {
    const FileHandle to(ends[1]);
    ASSERT_EQ(write(to.fd(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  EXPECT_FALSE(output.take(from.fd(), false));
}

mode_t mode_of(const fs::path& path) {
  struct stat about {};
  EXPECT_EQ(stat(path.c_str(), &about), 0);
  return about.st_mode & 0777;
}

TEST(RankOutput, ALogIsForItsOwnerAlone) {
  const testing::TempFolder folder;
  const fs::path log = folder / "logs" / "rank-00.log";
  put(log, false, "one\n");
  EXPECT_EQ(mode_of(log), 0600U);
  put(log, true, "two\n");
  EXPECT_EQ(read_text(log), "one\ntwo\n");
  put(log, false, "three\n");
  EXPECT_EQ(read_text(log), "three\n");
}

TEST(RankOutput, ALogThatIsNotThisUsersAloneIsRefused) {
  const testing::TempFolder folder;
  const fs::path log = folder / "rank-00.log", elsewhere = folder / "elsewhere";
  const auto complaint = [&] { return testing::message_of<Error>([&] { RankOutput(0, log, false, Show::kNothing); }); };
  write_file(elsewhere, std::string("kept"));
  fs::create_hard_link(elsewhere, log);
  EXPECT_NE(complaint().find("second name"), std::string::npos) << complaint();
  EXPECT_EQ(read_text(elsewhere), "kept");
  fs::remove(log);
  ASSERT_EQ(mkfifo(log.c_str(), 0666), 0);
  EXPECT_NE(complaint().find("--log-dir"), std::string::npos) << "nobody reads it, and ranks must not wait";
  if (geteuid() != 0) return;
  ASSERT_EQ(chown(log.c_str(), 12345, 12345), 0);
  const FileHandle reader(open(log.c_str(), O_RDONLY | O_NONBLOCK));
  EXPECT_NE(complaint().find("another user"), std::string::npos) << complaint();
  fs::remove(log);
  write_file(log, std::string("theirs"));
  ASSERT_EQ(chown(log.c_str(), 12345, 12345), 0);
  EXPECT_NE(complaint().find("another user"), std::string::npos) << complaint();
  EXPECT_EQ(read_text(log), "theirs");
}

TEST(RankOutput, ALinkOfThisUsersIsFollowed) {
  const testing::TempFolder folder;
  fs::create_symlink(folder / "elsewhere", folder / "rank-00.log");
  put(folder / "rank-00.log", false, "one\n");
  EXPECT_EQ(read_text(folder / "elsewhere"), "one\n");
  fs::create_symlink("/dev/null", folder / "rank-01.log");
  put(folder / "rank-01.log", false, "one\n");
}

}  // namespace
}  // namespace tessera
