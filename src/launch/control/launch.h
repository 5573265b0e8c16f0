#pragma once
#include "launch/options.h"

namespace tessera {

// Starts the ranks of this host (or of the hosts named), watches them and returns the exit code of the run: 0, that of the rank
// that failed, 128 + signal. No process it started is left when it returns, or dies.
int run_launch(const LaunchOptions& options);

}  // namespace tessera
