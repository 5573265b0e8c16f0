#pragma once
#include <filesystem>
#include <string>

#include "core/access.h"
#include "core/descriptor.h"

namespace tessera {

// A lock that one process at a time holds, until the object or the process ends, however that happens.
class FileLock {
 public:
  // Makes the file at `path`, or opens it; never through a link. Another user's file will do if it can be read. Throws Error,
  // with the owner where that is another user, and with `advice`, where it cannot.
  FileLock(std::filesystem::path path, std::string advice, Access access = Access::kUmask);

  // False: another process has it. On a file system without locks (some network file systems) everybody gets it; a warning
  // says so once in a process, and `works` is false from then on. Who gets it signs it: others then read who has it.
  bool try_lock();
  // Waits as long as it takes; after a few seconds, and then every minute, a line of the log says for whom.
  void wait();
  bool works() const { return works_; }

  // Who has it, for people ("process 7 on node3 (ada)"): as the kernel says, else as it was signed, else the owner of the file.
  std::string holder() const;

  // For a lock whose purpose is fulfilled, by who has it: others that still wait make it anew.
  void remove();

 private:
  void open();
  bool is_in_place() const;
  void sign() const;

  std::filesystem::path path_;
  std::string advice_;
  Access access_;
  Descriptor file_;
  bool works_ = true;
};

}  // namespace tessera
