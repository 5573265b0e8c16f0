#include "report/axis_ticks.h"

#include <fmt/format.h>

#include <cmath>

#include "report/number_text.h"

namespace tessera {

double nice_step(double range) {
  const double power = std::pow(10, std::floor(std::log10(range / 6)));
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (range / (factor * power) <= 6) return factor * power;
  }
  return 10 * power;
}

std::vector<double> nice_ticks(double low, double high) {
  const double step = nice_step(high - low);
  std::vector<double> ticks;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) ticks.push_back(i == 0 ? 0 : i * step);
  return ticks;
}

std::string tick_text(double value, double step) {
  constexpr double kLeast = 1e-5, kMost = 1e5;  // beyond, as powers of ten
  if (value == 0 || step < kLeast || std::abs(value) >= kMost) return short_text(value);
  return fmt::format("{:.{}f}", value, std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9))));
}

}  // namespace tessera
