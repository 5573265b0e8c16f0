#pragma once
#include <string>
#include <vector>

namespace tessera {

// One value of a config, as YAML, and the sentence that says why.
struct CommentedValue {
  std::string key, value, reason;
};

// The choices as a config: groups in the order in which they come first, each value under its reason.
std::string commented_config(const std::vector<CommentedValue>& choices);

}  // namespace tessera
