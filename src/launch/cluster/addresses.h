#pragma once
#include <string>

namespace tessera {

// Whether a name or an address leads to this machine.
bool is_own_address(const std::string& host);

}  // namespace tessera
