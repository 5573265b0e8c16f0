#pragma once
#include <string>

namespace tessera {

bool is_loopback(const std::string& host);

// Whether a name or an address leads to this machine.
bool is_own_address(const std::string& host);

}  // namespace tessera
