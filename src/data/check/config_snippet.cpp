#include "data/check/config_snippet.h"

#include <map>

namespace tessera {
namespace {

// A group of keys, or a value.
struct KeyTree {
  std::string value;
  std::map<std::string, KeyTree> keys;
};

void write_tree(const KeyTree& tree, const std::string& indent, std::string& text) {
  for (const auto& [name, below] : tree.keys) {
    text += indent + name + (below.keys.empty() ? ": " + below.value : ":") + "\n";
    write_tree(below, indent + "  ", text);
  }
}

}  // namespace

std::string config_snippet(const std::vector<std::string>& keys) {
  KeyTree root;
  for (const std::string& pair : keys) {
    const size_t equals = pair.find('=');
    KeyTree* at = &root;
    for (size_t begin = 0; begin < equals;) {
      const size_t end = std::min(pair.find('.', begin), equals);
      at = &at->keys[pair.substr(begin, end - begin)];
      begin = end + 1;
    }
    if (equals != std::string::npos) at->value = pair.substr(equals + 1);
  }
  std::string text;
  write_tree(root, "", text);
  return text;
}

}  // namespace tessera
