#pragma once
#include <string>

namespace tessera {

std::string version();       // "0.1.0"
std::string build_commit();  // of the checkout it was built from, "unknown" without one

}  // namespace tessera
