#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

// The length of the UTF-8 character that `text` begins with, and its number; length 0 where it begins with none.
struct Utf8Character {
  size_t length = 0;
  uint32_t number = 0;
};

inline Utf8Character first_character(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  if (text.empty()) return {};
  if (byte(0) < 0x80) return {1, byte(0)};
  const size_t length = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};  // smaller numbers have shorter forms
  if (byte(0) < 0xC2 || byte(0) > 0xF4 || text.size() < length) return {};
  uint32_t number = byte(0) & (0x7FU >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    number = number << 6 | (byte(i) & 0x3FU);
  }
  const bool surrogate = number >= 0xD800 && number <= 0xDFFF;
  return number < kLeast[length] || surrogate || number > 0x10FFFF ? Utf8Character{} : Utf8Character{length, number};
}

// A text of somebody else's making (a peer, a file's name) as it may be shown on a terminal and in a log: one line, without
// anything that moves the cursor, changes colours or turns the direction of writing. Bytes of such characters, and bytes that
// are no UTF-8, become \xNN; all else stays as it is.
inline std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const auto [length, number] = first_character(text);
    const bool control = number < 0x20 || (number >= 0x7F && number < 0xA0);
    const bool turns = number == 0x2028 || number == 0x2029 || (number >= 0x202A && number <= 0x202E) ||
                       (number >= 0x2066 && number <= 0x2069);
    if (length > 0 && !control && !turns) {
      shown += text.substr(0, length);
    } else {
      for (size_t i = 0; i < std::max<size_t>(1, length); ++i) shown += fmt::format("\\x{:02x}", static_cast<uint8_t>(text[i]));
    }
    text.remove_prefix(std::max<size_t>(1, length));
  }
  return shown;
}

}  // namespace tessera
