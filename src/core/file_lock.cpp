#include "core/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/files.h"
#include "core/log.h"

namespace tessera {

FileLock::FileLock(fs::path path, const std::string& advice) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  TSR_CHECK(descriptor_ >= 0, "cannot write {}: {}; {}", path_.string(), std::strerror(errno), advice);
}

FileLock::~FileLock() {
  ::close(descriptor_);
}

bool FileLock::lock(int how) {
  int failed = 0;
  do {
    failed = ::flock(descriptor_, how) == 0 ? 0 : errno;
  } while (failed == EINTR);
  if (failed == 0 || failed == EWOULDBLOCK) return failed == 0;
  TSR_CHECK(failed == ENOLCK || failed == ENOSYS || failed == ENOTSUP, "cannot lock {}: {}", path_.string(),
            std::strerror(failed));
  works_ = false;
  static std::atomic<bool> said = false;
  if (!said.exchange(true))
    log_warn("the file system of {} has no locks ({}): nothing keeps a second process from writing to the same folder",
             path_.string(), std::strerror(failed));
  return true;
}

bool FileLock::try_lock() {
  return lock(LOCK_EX | LOCK_NB);
}

void FileLock::wait() {
  lock(LOCK_EX);
}

void FileLock::sign(const std::string& text) {
  // Only for people to read: a full disk must not keep anybody from the lock.
  if (::ftruncate(descriptor_, 0) != 0 || ::pwrite(descriptor_, text.data(), text.size(), 0) < 0) return;
}

std::string FileLock::signature() const {
  char text[256];
  const ssize_t size = ::pread(descriptor_, text, sizeof text, 0);
  return {text, static_cast<size_t>(std::max<ssize_t>(size, 0))};
}

void FileLock::remove() {
  std::error_code ignored;
  fs::remove(path_, ignored);
}

}  // namespace tessera
