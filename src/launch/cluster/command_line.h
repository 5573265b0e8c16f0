#pragma once
#include <string>
#include <vector>

#include "launch/options.h"

namespace tessera {

// The words that start a rank. A command of this program (train, eval, ...) gets the program itself before it, and `train` is
// told to resume when the world starts anew; anything else is run as it is.
std::vector<std::string> rank_command(const LaunchOptions& options, bool again);

// The path of this program.
std::string own_program();

}  // namespace tessera
