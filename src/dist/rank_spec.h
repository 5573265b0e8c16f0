#pragma once
#include <cstdint>
#include <string>

namespace tessera {

// Which rank of which world a process is, and where the ranks meet.
struct RankSpec {
  int rank = 0, world_size = 1;
  int local_rank = 0, local_world_size = 1;  // among the ranks of this host
  int node_rank = 0, num_nodes = 1;
  std::string master_addr = "127.0.0.1";
  int master_port = 0;
  bool launcher_store = false;  // a launcher serves the store at the master's address; else rank 0 does
  int generation = 0;           // how often the launcher has started this world anew
  std::string srun_step = {};   // "JOB.STEP" where srun itself started this rank; else empty
};

}  // namespace tessera
