#pragma once
#include <string_view>

namespace tessera {

// Whether the parameter or layer `name` is the part of a model called `part`, or lies in it: "backbone.layer1.0" is in
// "backbone.layer1", "backbone.layer10" is not.
inline bool is_part(std::string_view name, std::string_view part) {
  return name.starts_with(part) && (name.size() == part.size() || name[part.size()] == '.');
}

}  // namespace tessera
