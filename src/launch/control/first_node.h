#pragma once
#include "launch/options.h"

namespace tessera {

// The launcher of node 0, which is also that of a single host: runs its own ranks, and decides for all nodes. Returns the exit
// code. Note [Control channel]: on several nodes it listens on the master port, where the others send one line of JSON each
// second and are told in the same way what to do; the ranks meet on another port, which they learn from it at each start.
int run_first_node(const LaunchOptions& options, const Layout& layout);

}  // namespace tessera
