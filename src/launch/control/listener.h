#pragma once
#include <string>
#include <vector>

#include "launch/control/line_socket.h"
#include "launch/node/poller.h"

namespace tessera {

// Where the launcher of node 0 is found: at the master's address alone. A name that on this host leads to loopback, as some
// /etc/hosts have it for the host's own name, or an address that is not of this host, as that of a service in front of it, does
// not tell where the others will come in: then it is all addresses.
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
  std::vector<FileHandle> sockets_;
  bool everywhere_ = false, paused_ = false, starved_ = false;
  double resume_s_ = 0;
};

}  // namespace tessera
