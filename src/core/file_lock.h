#pragma once
#include <filesystem>
#include <string>

namespace tessera {

// A lock that one process at a time holds, until the object or the process ends, however that happens.
class FileLock {
 public:
  // Makes the file at `path`. Throws Error with `advice` where it cannot.
  FileLock(std::filesystem::path path, const std::string& advice);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  // False: another process has it. On a file system without locks (some network file systems) everybody gets it; a warning
  // says so once in a process, and `works` is false from then on.
  bool try_lock();
  void wait();
  bool works() const { return works_; }

  // Whoever holds the lock may say who it is, and others read it.
  void sign(const std::string& text);
  std::string signature() const;

  // For a lock whose purpose is fulfilled: others that still wait get one that is no longer there.
  void remove();

 private:
  std::filesystem::path path_;
  bool lock(int how);

  int descriptor_;
  bool works_ = true;
};

}  // namespace tessera
