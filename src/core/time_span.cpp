#include "core/time_span.h"

#include <cctype>
#include <string_view>

#include "core/error.h"

namespace tessera {
namespace {

// 0 for what is no unit.
double seconds_of_unit(char unit) {
  switch (unit) {
    case 'd': return 86400;
    case 'h': return 3600;
    case 'm': return 60;
    case 's': return 1;
    default: return 0;
  }
}

}  // namespace

// Each unit once, the largest first.
double parse_time_span(const std::string& text) {
  constexpr size_t kMostDigits = 9;
  double total = 0, last_unit = 0;
  std::string_view rest = text;
  while (!rest.empty()) {
    size_t digits = 0;
    double number = 0;
    for (; digits < rest.size() && std::isdigit(static_cast<unsigned char>(rest[digits])) != 0; ++digits)
      number = number * 10 + (rest[digits] - '0');
    const double unit = digits > 0 && digits <= kMostDigits && digits < rest.size() ? seconds_of_unit(rest[digits]) : 0;
    TSR_CHECK(unit > 0 && (last_unit == 0 || unit < last_unit), "'{}' is no length of time; write 3h50m, 90m, 1d or 45s", text);
    total += number * unit;
    last_unit = unit;
    rest.remove_prefix(digits + 1);
  }
  TSR_CHECK(total > 0, "'{}' is no length of time; write 3h50m, 90m, 1d or 45s", text);
  return total;
}

}  // namespace tessera
