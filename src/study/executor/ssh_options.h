#pragma once
#include <string>
#include <vector>

#include "config/schema.h"

namespace tessera {

// Hosts that are reached over ssh without a password, and that see the study's folder, the data and the program under the same
// paths.
struct SshOptions {
  static constexpr std::string_view kName = "ssh";
  std::vector<std::string> hosts = {};
  std::string ssh = "ssh -o BatchMode=yes -o ConnectTimeout=10";
  bool gpus = true;
  std::vector<std::string> setup = {};
  double poll_s = 10;
  double timeout_s = 30;
  double lost_after_s = 900;
  double settle_s = 30;
};
template <class V>
void describe(V& v, SshOptions& c) {
  v.field("hosts", c.hosts, "hosts and how many ranks each takes at once: [node1:4, node2:4]; must be given");
  v.field("ssh", c.ssh, "how they are reached; called as CMD HOST COMMAND");
  v.field("gpus", c.gpus, "a host's ranks are its GPUs 0, 1, ...: each job sees its own of them alone");
  v.field("setup", c.setup, "shell lines before the command: [source ~/.profile]");
  v.field("poll_s", c.poll_s, "seconds between two looks at a host, each of which is for all its jobs", positive());
  v.field("timeout_s", c.timeout_s, "seconds for a host to answer", positive());
  v.field("lost_after_s", c.lost_after_s, "seconds without an answer after which the jobs of a host are given up", at_least(0));
  v.field("settle_s", c.settle_s, "seconds that a job's files may take to be seen from here", at_least(0));
}

}  // namespace tessera
