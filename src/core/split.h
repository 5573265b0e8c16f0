#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// The parts of a text between separators, empty ones too: n separators give n + 1 parts.
inline std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

}  // namespace tessera
