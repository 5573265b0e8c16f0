#include "config/writer.h"

#include <fmt/format.h>

#include <cmath>

namespace tessera {

std::string ConfigWriter::range_text(const Check& check) {
  const bool low = std::isfinite(check.low), high = std::isfinite(check.high);
  if (low && high) return fmt::format("{}..{}", check.low, check.high);
  if (low) return fmt::format("{} {}", check.low_open ? ">" : ">=", check.low);
  return high ? fmt::format("<= {}", check.high) : "";
}

// The shortest text that reads back to the same double.
std::string ConfigWriter::text_of(const double& value) {
  return fmt::format("{}", value);
}

std::string ConfigWriter::text_of(const std::string& value) {
  // Quoted always: text such as `no`, `1e3` or `a: b` would be read as something else.
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n') {
      quoted += "\\n";
    } else if (c == '$') {
      quoted += "$$";  // read back through ${} interpolation
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string ConfigWriter::text_of(const Size& value) {
  return value.height == value.width ? std::to_string(value.height) : fmt::format("[{}, {}]", value.height, value.width);
}

std::string ConfigWriter::text_of(const std::map<int64_t, int64_t>& value) {
  std::string all;
  for (const auto& [from, to] : value) all += fmt::format("{}{}: {}", all.empty() ? "" : ", ", from, to);
  return "{" + all + "}";
}

std::string to_yaml(const std::vector<SchemaLine>& lines) {
  std::string text;
  for (const SchemaLine& line : lines) {
    text += fmt::format("{:{}}{}:{}\n", "", line.depth * 2, line.name, line.is_group ? "" : " " + line.value);
  }
  return text;
}

}  // namespace tessera
