#pragma once
#include <string>
#include <utility>
#include <vector>

#include "launch/node/file_handle.h"
#include "launch/node/poller.h"

namespace tessera {

// Everything that asks a launcher to stop: SIGINT, SIGTERM, SIGUSR1, a closed terminal; and, if another launcher started this
// one from another host, what that one writes to our standard input: "signal 15", "lost 3" for a node that will never come.
class StopSource {
 public:
  StopSource(Poller& poller, bool reads_stdin);
  StopSource(const StopSource&) = delete;
  StopSource& operator=(const StopSource&) = delete;
  ~StopSource();

  std::vector<int> take_signals() { return std::exchange(signals_, {}); }
  std::vector<int> take_lost_nodes() { return std::exchange(lost_nodes_, {}); }
  bool starter_gone() const { return starter_gone_; }

 private:
  void read_signals();
  void read_stdin();

  Poller& poller_;
  FileHandle signal_file_;
  std::string pending_;
  std::vector<int> signals_, lost_nodes_;
  bool starter_gone_ = false;
};

}  // namespace tessera
