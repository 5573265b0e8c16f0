#include "report/number_text.h"

#include <fmt/format.h>

#include <cmath>
#include <ctime>

namespace tessera {
namespace {

constexpr const char* kDash = "–";

}  // namespace

std::string count_text(int64_t value) {
  std::string digits = std::to_string(value);
  const int first = value < 0 ? 1 : 0;
  for (int at = static_cast<int>(digits.size()) - 3; at > first; at -= 3) digits.insert(static_cast<size_t>(at), 1, ',');
  return digits;
}

std::string percent_text(double fraction, int digits) {
  return std::isfinite(fraction) ? fmt::format("{:.{}f}", fraction * 100, digits) : kDash;
}

std::string percent_unit_text(double fraction, int digits) {
  return std::isfinite(fraction) ? percent_text(fraction, digits) + "\u00a0%" : kDash;
}

std::string short_text(double value) {
  if (!std::isfinite(value)) return kDash;
  if (std::abs(value) >= 100 && std::abs(value) < 1e6) return count_text(std::llround(value));
  return fmt::format("{:.3g}", value);
}

std::string large_text(double value) {
  if (!std::isfinite(value)) return kDash;
  if (std::abs(value) >= 1e9) return fmt::format("{:.2f} G", value / 1e9);
  if (std::abs(value) >= 1e6) return fmt::format("{:.1f} M", value / 1e6);
  return count_text(std::llround(value));
}

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds)) return kDash;
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  const int64_t whole = std::llround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  const int64_t minutes = whole / 60;
  if (minutes < 24 * 60) return fmt::format("{} h {} min", minutes / 60, minutes % 60);
  return fmt::format("{} d {} h", minutes / (24 * 60), minutes / 60 % 24);
}

std::string time_text(double unix_seconds) {
  if (!std::isfinite(unix_seconds)) return kDash;
  const auto seconds = static_cast<std::time_t>(unix_seconds);
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return kDash;
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02} UTC", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
                     parts.tm_min);
}

}  // namespace tessera
