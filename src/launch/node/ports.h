#pragma once
#include <string>

#include "launch/node/file_handle.h"

namespace tessera {

// A port of this host that nobody uses, kept for one job as long as this lives. Rank 0 opens it only later, so in between
// nobody else must get it: it lies below the ports that the system hands out by itself, and a lock under its name in the same
// network keeps other launchers away.
class ReservedPort {
 public:
  explicit ReservedPort(int preferred = 0);  // tried first; throws Error if no port is free
  int number() const { return number_; }

  // Why the preferred one was not to be had, if that is known: " (reserved by a process of user 1001)". Who may not use a port
  // can still hold its name; other ports are then tried.
  const std::string& refusal() const { return refusal_; }

 private:
  bool take(int number);
  FileHandle lock_;
  int number_ = 0;
  std::string refusal_;
};

bool port_is_free(int number);

}  // namespace tessera
