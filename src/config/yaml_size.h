#pragma once
#include <cstdint>
#include <string>

namespace tessera {

// What a text unfolds to: an alias (*name) counts as all that it stands for, since a Node holds a copy of it.
struct YamlExtent {
  uint64_t values = 0;
  uint64_t text = 0;  // bytes
};

// Throws UsageError with file and line when the text, together with what was read `before` it, stands for more values than any
// config has, or for more text: nine lines of ten aliases each would be 10^9 values. Only sums are kept, so neither the time
// nor the memory grows with what the aliases would unfold to. `name` is for messages. Returns the sum. Throws YAML::Exception
// for text that is not YAML.
YamlExtent check_yaml_size(const std::string& text, const std::string& name, const YamlExtent& before = {});

}  // namespace tessera
