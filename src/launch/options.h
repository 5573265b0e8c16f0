#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/files.h"

namespace tessera {

// `tessera launch`, as the user wrote it.
struct LaunchOptions {
  std::vector<std::string> command;       // train ...; or another program and its arguments
  std::vector<std::string> own_commands;  // the first words that mean this program

  std::optional<int> world_size, num_nodes, node_rank, ranks_per_node, master_port;
  std::string master_addr;
  std::string hosts;  // a:8,b:8
  fs::path hostfile;
  std::string ssh;  // empty: ssh, and none for this host

  int restarts = 0;
  int min_ranks = 0;  // 0: the whole world
  double hang_timeout_s = 60;
  double start_timeout_s = 300;

  fs::path log_dir = "logs";
  bool tee = false;
  bool bind = true;
  bool insecure = false;     // several nodes without a secret
  bool reads_stdin = false;  // a starter elsewhere writes what to do, and its end is ours
};

// More than any machine has, and few enough that sums of them fit.
inline constexpr int kMostRanksPerNode = 4096, kMostRanks = 1 << 20;

// Which node of how many this launcher is, once options and environment have been read.
struct LaunchLayout {
  int world_size = 1, num_nodes = 1, node_rank = 0;
  bool world_given = false;  // else it is what the nodes bring
  int ranks_per_node = 1;    // of a full node
  int ranks_here = 1;
  std::string master_addr = "127.0.0.1";
  int master_port = 0;  // 0: any free one, on a single node
};

}  // namespace tessera
