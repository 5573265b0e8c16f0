#pragma once
#include <cstdint>
#include <string>

namespace tessera {

// Numbers as people read them. NaN is an en dash everywhere.
std::string count_text(int64_t value);                           // 1234567 -> "1,234,567"
std::string percent_text(double fraction, int digits = 2);       // 0.43871 -> "43.87"
std::string percent_unit_text(double fraction, int digits = 2);  // "43.87 %" that no line break parts
std::string short_text(double value);                            // three significant digits or so: 0.000123, 12.3, 4.57e+06
std::string large_text(double value);                            // 43580000 -> "43.6 M"
std::string duration_text(double seconds);                       // 11520 -> "3 h 12 min"
std::string time_text(double unix_seconds);                      // "2025-03-01 14:05 UTC"

}  // namespace tessera
