#pragma once
#include <string>

namespace tessera {

// Seconds of a length of time: "3h50m", "90min", "1.5h", "1d2h", "45s"; minutes are m or min. Throws Error for what is none,
// and for none at all.
double parse_time_span(const std::string& text);

}  // namespace tessera
