#include "config/byte_size.h"

#include <array>
#include <charconv>
#include <string_view>

#include "core/error.h"
#include "core/files.h"

namespace tessera {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr std::array<Unit, 13> kUnits = {{{"", 1},
                                          {"b", 1},
                                          {"kb", 1e3},
                                          {"mb", 1e6},
                                          {"gb", 1e9},
                                          {"tb", 1e12},
                                          {"kib", 1024.0},
                                          {"mib", 1024.0 * 1024},
                                          {"gib", 1024.0 * 1024 * 1024},
                                          {"tib", 1024.0 * 1024 * 1024 * 1024},
                                          {"k", 1e3},
                                          {"m", 1e6},
                                          {"g", 1e9}}};
constexpr double kMost = 1e18;

}  // namespace

uint64_t parse_byte_size(const std::string& text, const std::string& key) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string unit = lower(std::string_view(end, static_cast<size_t>(text.data() + text.size() - end)));
  unit.erase(0, unit.find_first_not_of(' '));
  for (const Unit& known : kUnits) {
    const double bytes = number * known.bytes;
    if (error == std::errc() && unit == known.name && bytes >= 1 && bytes <= kMost) return static_cast<uint64_t>(bytes);
  }
  fail_usage("{}: '{}' is no number of bytes; expected one such as 200GB, 512MB or 64GiB", key, text);
}

}  // namespace tessera
