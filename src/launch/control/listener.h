#pragma once
#include <string>
#include <vector>

#include "core/descriptor.h"
#include "launch/control/line_socket.h"
#include "launch/node/poller.h"

namespace tessera {

// Where the launcher of node 0 is found: at the master's address alone. Where that does not tell at which address of this host
// the others come in (core/listen_at.h), it is all of them, and a warning says so.
class Listener {
 public:
  Listener(const std::string& address, int port, Poller& poller);  // throws Error if the port is taken
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

  bool everywhere() const { return everywhere_; }

  // Connections that have come, each with the address of its peer and a short line allowed to it. A few at a time, and at most
  // some hundred in a second: whoever calls again and again waits in the system's queue, not at the cost of the ranks' cores.
  // When no file is to be had, nothing is looked for during a second, and starved() is true.
  std::vector<LineSocket> accept(double now_s);
  bool starved() const { return starved_; }

  static constexpr size_t kMostAtOnce = 16, kLongestFirstLine = 4096;

 private:
  void pause(double until_s);

  Poller& poller_;
  std::vector<Descriptor> sockets_;
  bool everywhere_ = false, paused_ = false, starved_ = false;
  double resume_s_ = 0;
};

}  // namespace tessera
