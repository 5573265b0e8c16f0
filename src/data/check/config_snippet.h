#pragma once
#include <string>
#include <vector>

namespace tessera {

// key=value pairs as the YAML of a config: `data.labels.binary=true` becomes three lines, groups that several keys share come
// once.
std::string config_snippet(const std::vector<std::string>& keys);

}  // namespace tessera
