#pragma once
#include <string_view>

namespace tessera {

// Whether a parameter or module lies in the part of a model that is called `part`, or is that part: paths are names joined by
// dots, so "layer1.0.weight" is of "layer1" and of "layer1.0", "layer10.weight" is not.
inline bool is_part_of(std::string_view path, std::string_view part) {
  return path.starts_with(part) && (path.size() == part.size() || path[part.size()] == '.');
}

}  // namespace tessera
