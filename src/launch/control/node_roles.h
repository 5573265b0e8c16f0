#pragma once
#include "launch/cluster/job_secret.h"
#include "launch/options.h"

namespace tessera {

// The launcher of node 0, which is also that of a single host: runs its own ranks, and decides for all nodes. Returns the exit
// code. Note [Control channel]: on several nodes it listens at the master's address and port, where the others send one line of
// JSON each second and are told in the same way what to do, all of it signed (Note [Sealed lines]); the ranks meet on another
// port, which they learn from it at each start.
int run_first_node(const LaunchOptions& options, const LaunchLayout& layout, JobSecret& secret);

// The launcher of a node other than 0: finds node 0's, does what it says, tells it each second what the ranks here do. When
// node 0 is gone its ranks end too. Returns the exit code.
int run_other_node(const LaunchOptions& options, const LaunchLayout& layout, JobSecret& secret);

}  // namespace tessera
