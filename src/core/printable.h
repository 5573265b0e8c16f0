#pragma once
#include <string>
#include <string_view>

namespace tessera {

// A name or text from elsewhere, safe for a terminal and on one line: control characters (line ends, ESC, DEL and U+0080..9F
// among them) and bytes that are no UTF-8 become \xNN. Everything else stays, backslashes too.
std::string printable(std::string_view text);

// The same for a text of several lines: line ends and tabs stay.
std::string printable_lines(std::string_view text);

}  // namespace tessera
