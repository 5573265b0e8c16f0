#include "core/file_lock.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <thread>
#include <tuple>

#include "core/error.h"
#include "core/files.h"
#include "core/host_name.h"
#include "core/log.h"
#include "core/printable.h"
#include "core/user_name.h"

namespace tessera {
namespace {

std::string process_text(int process, const std::string& user) {
  return fmt::format("process {} on {} ({})", process, host_name(), user);
}

// The process that has a lock on this file, as the kernel lists them; 0 where it is on another host or not to be seen.
int locking_process(const struct stat& file) {
  const std::string wanted = fmt::format("{:02x}:{:02x}:{}", major(file.st_dev), minor(file.st_dev), file.st_ino);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    // 7: FLOCK  ADVISORY  WRITE 4711 fd:01:1234 0 EOF
    std::array<char, 64> place{};
    int process = 0;
    if (std::sscanf(line.c_str(), "%*d: %*s %*s %*s %d %63s", &process, place.data()) == 2 && wanted == place.data())
      return process;
  }
  return 0;
}

}  // namespace

FileLock::FileLock(fs::path path, std::string advice, Access access)
    : path_(std::move(path)), advice_(std::move(advice)), access_(access) {
  open();
}

void FileLock::open() {
  file_ = Descriptor(path_, O_RDWR | O_CREAT | O_NOFOLLOW, file_mode(access_));
  if (file_.ok()) return;
  const int refused = errno;
  file_ = Descriptor(path_, O_RDONLY | O_NOFOLLOW);  // a lock can be had without writing to the file
  if (file_.ok()) return;
  struct stat info {};
  const bool is_link = refused == ELOOP;
  const bool known = ::lstat(path_.c_str(), &info) == 0;
  const std::string whose =
      known && info.st_uid != ::geteuid() ? fmt::format(", which belongs to {}", user_name(info.st_uid)) : "";
  fail("cannot write {}{}: {}; {}", printable(path_.string()), whose, is_link ? "it is a link" : std::strerror(refused),
       advice_);
}

// Who had the lock may have removed the file.
bool FileLock::is_in_place() const {
  struct stat own {
  }, there{};
  if (::fstat(file_.get(), &own) != 0 || ::lstat(path_.c_str(), &there) != 0) return false;
  return own.st_ino == there.st_ino && own.st_dev == there.st_dev;
}

bool FileLock::try_lock() {
  while (true) {
    const int failed = ::flock(file_.get(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    if (failed == EINTR) continue;
    if (failed == EWOULDBLOCK) return false;
    // EBADF: some network file systems want the right to write.
    TSR_CHECK(failed == 0 || failed == ENOLCK || failed == ENOSYS || failed == ENOTSUP || failed == EBADF, "cannot lock {}: {}",
              printable(path_.string()), std::strerror(failed));
    if (failed != 0) {
      works_ = false;
      static std::atomic<bool> said = false;
      if (!said.exchange(true))
        log_warn("the file system of {} has no locks ({}): nothing keeps a second process from writing to the same folder",
                 path_.string(), std::strerror(failed));
      return true;
    }
    if (is_in_place()) break;
    open();
  }
  sign();
  return true;
}

// Only for people to read: a full disk, or a file of another user, must not keep anybody from the lock. A file of two names may
// be no lock at all but for who put the name there.
void FileLock::sign() const {
  struct stat info {};
  if (::fstat(file_.get(), &info) != 0 || info.st_nlink != 1 || ::ftruncate(file_.get(), 0) != 0) return;
  const std::string text = process_text(::getpid(), user_name(::geteuid()));
  std::ignore = ::pwrite(file_.get(), text.data(), text.size(), 0);
}

void FileLock::wait() {
  using namespace std::chrono_literals;
  constexpr auto kSilent = 5s, kRepeat = 60s;
  const auto begin = std::chrono::steady_clock::now();
  auto speak = begin + kSilent;
  for (auto pause = 10ms; !try_lock(); pause = std::min<std::chrono::milliseconds>(2 * pause, 500ms)) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= speak) {
      log_info("still waiting, for {} s now: {} has {}; end that process if it hangs",
               std::chrono::round<std::chrono::seconds>(now - begin).count(), holder(), path_.string());
      speak = now + kRepeat;
    }
    std::this_thread::sleep_for(pause);
  }
}

std::string FileLock::holder() const {
  struct stat info {};
  if (::fstat(file_.get(), &info) != 0) return "another process";
  if (const int process = locking_process(info); process > 0) {
    struct stat running {};
    const bool seen = ::stat(fmt::format("/proc/{}", process).c_str(), &running) == 0;
    return process_text(process, seen ? user_name(running.st_uid) : "of a user that cannot be seen");
  }
  std::array<char, 256> text{};
  const ssize_t size = ::pread(file_.get(), text.data(), text.size(), 0);
  if (size > 0) return printable({text.data(), static_cast<size_t>(size)});
  return fmt::format("another process (the lock belongs to {})", user_name(info.st_uid));
}

void FileLock::remove() {
  std::error_code ignored;
  fs::remove(path_, ignored);
}

}  // namespace tessera
