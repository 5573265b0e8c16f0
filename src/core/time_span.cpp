#include "core/time_span.h"

#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

#include "core/error.h"

namespace tessera {
namespace {

// Seconds of the unit that the text begins with, which is taken off it; 0 for what is no unit.
double take_unit(std::string_view& text) {
  constexpr std::array<std::pair<std::string_view, double>, 5> kUnits = {
      {{"d", 86400}, {"h", 3600}, {"min", 60}, {"m", 60}, {"s", 1}}};
  for (const auto& [name, seconds] : kUnits) {
    if (!text.starts_with(name)) continue;
    text.remove_prefix(name.size());
    return seconds;
  }
  return 0;
}

// The number that the text begins with, which is taken off it; negative where there is none.
double take_number(std::string_view& text) {
  double number = -1;
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) == 0) return number;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);  // "1e3" is no such number
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return error == std::errc() ? number : -1;
}

}  // namespace

// Each unit once, the largest first.
double parse_time_span(const std::string& text) {
  constexpr double kMost = 1e9;  // of a unit
  double total = 0, last_unit = std::numeric_limits<double>::infinity();
  for (std::string_view rest = text; !rest.empty();) {
    const double number = take_number(rest), unit = take_unit(rest);
    TSR_CHECK(number >= 0 && number < kMost && unit > 0 && unit < last_unit,
              "'{}' is no length of time; write 3h50m, 90min, 1d or 45s", text);
    total += number * unit;
    last_unit = unit;
  }
  TSR_CHECK(total > 0, "'{}' is no length of time; write 3h50m, 90min, 1d or 45s", text);
  return total;
}

}  // namespace tessera
