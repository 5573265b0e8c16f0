#pragma once
#include <string>
#include <utility>
#include <vector>

namespace tessera {

// What a process on another host is given of this one's variables: NAME and value. Secrets are not among them.
std::vector<std::pair<std::string, std::string>> passed_on_variables();

}  // namespace tessera
