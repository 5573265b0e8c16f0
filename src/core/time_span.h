#pragma once
#include <string>

namespace tessera {

// Seconds of a length of time: "3h50m", "90m", "1d2h", "45s". Throws Error for what is none, and for none at all.
double parse_time_span(const std::string& text);

}  // namespace tessera
