#include "core/printable.h"

#include <algorithm>

namespace tessera {
namespace {

// The length of the character that begins here, as Unicode defines UTF-8: nothing overlong, no surrogates, nothing above
// U+10FFFF. 0: these bytes are no character.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return 0;
  }
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool beyond = (first == 0xED && second > 0x9F) || (first == 0xF4 && second > 0x8F);
  return overlong || beyond ? 0 : length;
}

bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7F;
  // U+2028 to U+202E and U+2066 to U+2069: line ends, and marks that make a terminal show what follows in another order.
  if (character.size() == 3 && first == 0xE2) {
    const auto second = static_cast<unsigned char>(character[1]), third = static_cast<unsigned char>(character[2]);
    return (second == 0x80 && third >= 0xA8 && third <= 0xAE) || (second == 0x81 && third >= 0xA6 && third <= 0xA9);
  }
  return first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;  // terminals take U+009B for ESC [
}

std::string escaped(std::string_view text, std::string_view kept) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const std::string_view part = text.substr(0, std::max<size_t>(1, length));
    if (length > 0 && (!is_control(part) || kept.find(part[0]) != std::string_view::npos)) {
      shown += part;
    } else {
      for (const char c : part) {
        const auto byte = static_cast<unsigned char>(c);
        shown += {'\\', 'x', kDigits[byte >> 4U], kDigits[byte & 15U]};
      }
    }
    text.remove_prefix(part.size());
  }
  return shown;
}

}  // namespace

std::string printable(std::string_view text) {
  return escaped(text, "");
}

std::string printable_lines(std::string_view text) {
  return escaped(text, "\n\t");
}

}  // namespace tessera
