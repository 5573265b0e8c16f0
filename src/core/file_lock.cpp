#include "core/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/files.h"

namespace tessera {

FileLock::FileLock(fs::path path, const std::string& advice) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  TSR_CHECK(descriptor_ >= 0, "cannot write {}: {}; {}", path_.string(), std::strerror(errno), advice);
}

FileLock::~FileLock() {
  ::close(descriptor_);
}

bool FileLock::try_lock() {
  return ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

void FileLock::wait() {
  while (::flock(descriptor_, LOCK_EX) != 0) {
    TSR_CHECK(errno == EINTR, "cannot lock {}: {}", path_.string(), std::strerror(errno));
  }
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
