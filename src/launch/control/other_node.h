#pragma once
#include "launch/options.h"

namespace tessera {

// The launcher of a node other than 0: finds node 0's, does what it says, tells it each second what the ranks here do. When
// node 0 is gone its ranks end too. Returns the exit code.
int run_other_node(const LaunchOptions& options, const Layout& layout);

}  // namespace tessera
