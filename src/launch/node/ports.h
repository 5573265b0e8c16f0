#pragma once
#include "launch/node/file_handle.h"

namespace tessera {

// A port of this host that nobody uses, kept for one job as long as this lives. Rank 0 opens it only later, so in between
// nobody else must get it: it lies below the ports that the system hands out by itself, and a lock under its name in the same
// network keeps other launchers away.
class ReservedPort {
 public:
  explicit ReservedPort(int preferred = 0);  // tried first; throws Error if no port is free
  int number() const { return number_; }

 private:
  bool take(int number);
  FileHandle lock_;
  int number_ = 0;
};

bool port_is_free(int number);

}  // namespace tessera
