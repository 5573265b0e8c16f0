#include "core/file_lock.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>

#include "core/error.h"
#include "core/files.h"
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
