#pragma once
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera {

// A whole number of digits alone, as ranks, ports and counts are; nothing for "", "-1", "4x" or what does not fit.
inline std::optional<int64_t> parse_whole(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || text[0] == '-' || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace tessera
