#pragma once
#include <string>

namespace tessera::testing {

// The checkout that the tests were built from. Compiled once: a path in the command line of every test would keep a compiler
// cache from serving another checkout.
std::string source_dir();

}  // namespace tessera::testing
