#include "core/byte_count.h"

#include <array>
#include <charconv>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "core/printable.h"

namespace tessera {

int64_t parse_byte_count(std::string_view text, std::string_view what) {
  static constexpr std::array<std::pair<std::string_view, double>, 10> kUnits{{{"", 1},
                                                                               {"b", 1},
                                                                               {"kb", 1e3},
                                                                               {"mb", 1e6},
                                                                               {"gb", 1e9},
                                                                               {"tb", 1e12},
                                                                               {"kib", 1024.0},
                                                                               {"mib", 1048576.0},
                                                                               {"gib", 1073741824.0},
                                                                               {"tib", 1099511627776.0}}};
  constexpr double kMost = 1e18;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  std::string_view rest = text.substr(static_cast<size_t>(end - text.data()));
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  const std::string unit = lower(rest);
  for (const auto& [name, factor] : kUnits) {
    const double bytes = number * factor;
    if (error == std::errc() && unit == name && bytes >= 1 && bytes <= kMost) return static_cast<int64_t>(bytes);
  }
  fail_usage("{}={}: expected a number of bytes such as 100GB or 512MiB", what, printable(text));
}

}  // namespace tessera
