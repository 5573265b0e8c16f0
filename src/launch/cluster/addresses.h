#pragma once
#include <string>

namespace tessera {

std::string host_name();

bool is_loopback(const std::string& host);

// Whether a name or an address leads to this machine.
bool is_own_address(const std::string& host);

}  // namespace tessera
