#include "core/file_lock.h"

#include <grp.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <memory>
#include <thread>

#include "core/error.h"
#include "core/files.h"
#include "core/host_name.h"
#include "core/user_name.h"
#include "support/fixtures.h"
#include "support/messages.h"

namespace tessera {
namespace {

TEST(FileLock, OneAtATimeHoldsItAndIsNamed) {
  const testing::TempFolder folder;
  FileLock other(folder / "lock", "");
  const std::string me = fmt::format("process {} on {} ({})", ::getpid(), host_name(), user_name(::geteuid()));
  {
    FileLock lock(folder / "lock", "");
    ASSERT_TRUE(lock.try_lock());
    EXPECT_FALSE(other.try_lock());
    EXPECT_EQ(other.holder(), me);
    EXPECT_EQ(read_text(folder / "lock"), me);  // for other hosts, whose kernels know nothing of it
  }
  EXPECT_TRUE(other.try_lock());
}

TEST(FileLock, SaysWhereItCannotBe) {
  EXPECT_THROW(FileLock("/no/such/folder/lock", "choose another"), Error);
  const testing::TempFolder folder;
  write_file(folder / "victim", std::string_view("mine"));
  fs::create_symlink("victim", folder / "lock");
  EXPECT_CONTAINS(testing::message_of([&] { FileLock(folder / "lock", "choose another"); }),
                  "lock: it is a link; choose another");
  EXPECT_EQ(read_text(folder / "victim"), "mine");
}

TEST(FileLock, AFileOfTwoNamesIsNotWrittenTo) {
  const testing::TempFolder folder;
  write_file(folder / "victim", std::string_view("mine"));
  fs::create_hard_link(folder / "victim", folder / "lock");
  FileLock lock(folder / "lock", "");
  EXPECT_TRUE(lock.try_lock());
  EXPECT_EQ(read_text(folder / "victim"), "mine");
}

TEST(FileLock, WhoWaitedForALockThatWasRemovedMakesItAnew) {
  const testing::TempFolder folder;
  auto first = std::make_unique<FileLock>(folder / "lock", "");
  FileLock second(folder / "lock", "");
  ASSERT_TRUE(first->try_lock());
  first->remove();
  first.reset();
  ASSERT_TRUE(second.try_lock());
  FileLock third(folder / "lock", "");
  EXPECT_FALSE(third.try_lock());  // there is one lock, not one on the file that is gone and one on a new file
}

TEST(FileLock, WaitingIsSaid) {
  const testing::TempFolder folder;
  auto first = std::make_unique<FileLock>(folder / "lock", "");
  ASSERT_TRUE(first->try_lock());
  std::thread release([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5800));
    first.reset();
  });
  ::testing::internal::CaptureStderr();
  FileLock(folder / "lock", "").wait();
  release.join();
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_CONTAINS(said, fmt::format("still waiting, for 5 s now: process {} on ", ::getpid()));
  EXPECT_CONTAINS(said, (folder / "lock").string());
}

TEST(FileLock, AnotherUsersIsTakenIfItCanBeReadAndNamedIfNot) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: the lock of another user is made here";
  constexpr uid_t kSomebody = 12345, kElse = 12346;
  const testing::TempFolder folder;
  fs::permissions(folder.path(), fs::perms(0755));
  for (const char* name : {"open", "closed"}) {
    write_file(folder / name, std::string_view(""));
    ASSERT_EQ(::chown((folder / name).c_str(), kSomebody, kSomebody), 0);
  }
  fs::permissions(folder / "open", fs::perms(0644));
  fs::permissions(folder / "closed", fs::perms(0600));
  const auto as_somebody_else = [&] {
    if (::setegid(kElse) != 0 || ::setgroups(0, nullptr) != 0 || ::seteuid(kElse) != 0) std::_Exit(77);
    FileLock first(folder / "open", ""), second(folder / "open", "");
    const bool held = first.try_lock() && !second.try_lock();
    const std::string message = testing::message_of([&] { FileLock(folder / "closed", "choose another"); });
    const bool named =
        message.find("closed, which belongs to uid 12345: Permission denied; choose another") != std::string::npos;
    if (!named) fmt::print(stderr, "{}\n", message);
    std::_Exit(held && named ? 0 : 1);
  };
  EXPECT_EXIT(as_somebody_else(), ::testing::ExitedWithCode(0), "");
}

// From here on the kernel answers this process's flock as a file system does that has no locks.
bool refuse_locks(unsigned error) {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_flock, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog filter{std::size(program), program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// Exit codes: 0 as promised, 1 not, 77 where the kernel does not let itself be asked for this.
[[noreturn]] void lock_without_locks(const fs::path& path, unsigned error) {
  FileLock first(path, ""), second(path, "");
  if (!refuse_locks(error)) std::_Exit(77);
  bool fine = first.try_lock() && second.try_lock() && !first.works() && !second.works();
  second.wait();
  std::_Exit(fine ? 0 : 1);
}

TEST(FileLock, AFileSystemWithoutLocksIsSaidOnce) {
  const testing::TempFolder folder;
  for (const unsigned error : {ENOLCK, ENOSYS, EOPNOTSUPP}) {
    const std::string once = "^[^\n]*has no locks[^\n]*second process[^\n]*\n$";
    EXPECT_EXIT(lock_without_locks(folder / "lock", error), ::testing::ExitedWithCode(0), once) << error;
  }
}

TEST(FileLock, AnyOtherReasonIsAnError) {
  const testing::TempFolder folder;
  const auto try_it = [&] {
    FileLock lock(folder / "lock", "");
    if (!refuse_locks(EIO)) std::_Exit(77);
    try {
      lock.try_lock();
    } catch (const Error&) {
      std::_Exit(0);
    }
    std::_Exit(1);
  };
  EXPECT_EXIT(try_it(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tessera
