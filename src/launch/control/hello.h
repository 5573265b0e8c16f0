#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "launch/options.h"

namespace tessera {

// The first message a node's launcher sends to node 0's. Nodes that would run different things are found here, not by wrong
// results.
struct Hello {
  std::string protocol = "tessera-launch-3";
  std::string program;  // version and commit
  std::string command;  // what the ranks run, as it can be shown; the end of a long one as a hash
  int num_nodes = 1, node_rank = 0, ranks = 1;
  std::string host;
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Hello, protocol, program, command, num_nodes, node_rank, ranks, host)

Hello make_hello(const LaunchOptions& options, const LaunchLayout& layout);

// Why the two cannot work together, naming both; "" if they can.
std::string mismatch(const Hello& node0, const Hello& other);

}  // namespace tessera
