#pragma once
#include <string>

namespace tessera {

// Throws UsageError with file and line when the text stands for more values than any config has, or for more text. An alias
// (*name) counts as all that it stands for, since a Node holds a copy of it: nine lines of ten aliases each would be 10^9
// values. Only sums are kept, so neither the time nor the memory grows with what the aliases would unfold to. `name` is for
// messages. Throws YAML::Exception for text that is not YAML.
void check_yaml_size(const std::string& text, const std::string& name);

}  // namespace tessera
