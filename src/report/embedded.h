#pragma once
#include <string_view>

namespace tessera {

// A file of html_template/, or "chart.js", as it was when the program was built. Throws Error for an unknown name.
std::string_view embedded_file(std::string_view name);

}  // namespace tessera
