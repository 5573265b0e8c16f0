#include "core/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>

#include "core/printable.h"
#include "core/secrets.h"

namespace tessera {
namespace {

std::atomic<void (*)()> before_log{nullptr};

spdlog::logger& logger() {
  static const auto instance = [] {
    auto made = spdlog::stderr_color_mt("tessera");
    made->set_pattern("%^%L%$ %H:%M:%S %v");
    return made;
  }();
  return *instance;
}

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarn: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
  }
  return spdlog::level::info;
}

// Names of files, classes and hosts come from elsewhere. They may not move the cursor, and no line but the first of a message
// begins at the edge, where lines of the log begin.
std::string shown(const std::string& text) {
  const std::string clean = printable_lines(without_secrets(text));
  std::string indented;
  for (size_t i = 0; i < clean.size(); ++i) {
    indented += clean[i];
    const bool follows = clean[i] == '\n' && i + 1 < clean.size();
    if (follows && clean[i + 1] != ' ') indented += "  ";
  }
  return indented;
}

}  // namespace

void set_log_level(LogLevel level) {
  logger().set_level(to_spdlog(level));
}

void set_before_log(void (*hook)()) {
  before_log = hook;
}

void log_line(LogLevel level, const std::string& text) {
  if (!logger().should_log(to_spdlog(level))) return;
  if (auto* hook = before_log.load()) hook();
  logger().log(to_spdlog(level), "{}", shown(text));
}

}  // namespace tessera
