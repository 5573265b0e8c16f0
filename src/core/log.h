#pragma once
#include <fmt/format.h>

#include <string>
#include <utility>

namespace tessera {

enum class LogLevel { kDebug, kInfo, kWarn, kError };

// Logs go to stderr, results to stdout. Thread-safe. A progress bar on the same terminal is cleared first and redrawn
// by its owner, so lines never mix. Control characters are escaped and secrets masked (core/printable.h, core/secrets.h).
void set_log_level(LogLevel level);
void log_line(LogLevel level, const std::string& text);

// Called before each log line; the progress bar uses it to wipe itself. Null removes it.
void set_before_log(void (*hook)());

template <class... Args>
void log_debug(fmt::format_string<Args...> text, Args&&... args) {
  log_line(LogLevel::kDebug, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
void log_info(fmt::format_string<Args...> text, Args&&... args) {
  log_line(LogLevel::kInfo, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
void log_warn(fmt::format_string<Args...> text, Args&&... args) {
  log_line(LogLevel::kWarn, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
void log_error(fmt::format_string<Args...> text, Args&&... args) {
  log_line(LogLevel::kError, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace tessera
