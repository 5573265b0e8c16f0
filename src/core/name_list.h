#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "core/printable.h"

namespace tessera {

// "a, b, c" for a message: the first ten names, printable, and ", ..." where there are more.
inline std::string name_list(const std::vector<std::string>& names) {
  constexpr size_t kMost = 10;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i) text += (i == 0 ? "" : ", ") + printable(names[i]);
  return names.size() > kMost ? text + ", ..." : text;
}

}  // namespace tessera
