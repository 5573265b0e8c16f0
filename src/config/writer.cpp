#include "config/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/secrets.h"

namespace tessera {
namespace {

constexpr const char* kBareLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-";

// Quoted always: text such as `no`, `1e3` or `a: b` would be read as something else. Not by YAML::Emitter, which makes U+FFFD
// of bytes that are no UTF-8, and names of files may hold such.
std::string in_quotes(const std::string& text) {
  std::string all = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      all += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      all += fmt::format("\\x{:02x}", byte);
    } else {
      if (c == '"' || c == '\\') all += '\\';
      all += c;
    }
  }
  return all + '"';
}

}  // namespace

std::string ConfigWriter::range_text(const Check& check) {
  const bool low = std::isfinite(check.low), high = std::isfinite(check.high);
  if (low && high) return fmt::format("{}..{}", check.low, check.high);
  if (low) return fmt::format("{} {}", check.low_open ? ">" : ">=", check.low);
  return high ? fmt::format("<= {}", check.high) : "";
}

// The shortest text that reads back to the same double.
std::string ConfigWriter::text_of(const double& value) const {
  return fmt::format("{}", value);
}

const SecretText* ConfigWriter::secret_of(const std::string& value) const {
  const std::string& place = within_.empty() ? field_ : within_;
  const auto found = std::find_if(secrets_.begin(), secrets_.end(), [&](const SecretText& secret) {
    return secret.value == value && (secret.key == place || secret.key.starts_with(place + "."));
  });
  return found == secrets_.end() ? nullptr : &*found;
}

std::string ConfigWriter::text_of(const std::string& value) const {
  if (const SecretText* secret = secret_of(value)) return in_quotes(mask_urls(secret->written));
  std::string text;
  for (const char c : mask_urls(value)) text += c == '$' ? "$$" : std::string(1, c);  // read back through ${}, unlike keys
  return in_quotes(text);
}

std::string ConfigWriter::text_of(const Size& value) const {
  return value.height == value.width ? std::to_string(value.height) : fmt::format("[{}, {}]", value.height, value.width);
}

std::string ConfigWriter::text_of(const WindowSize& value) const {
  return value.automatic ? "auto" : text_of(static_cast<const Size&>(value));
}

std::string ConfigWriter::text_of(const MicroBatch& value) const {
  return value.automatic ? "auto" : std::to_string(value.samples);
}

std::string ConfigWriter::text_of(const ClassWeights& value) const {
  return value.method ? text_of(*value.method) : text_of(value.given);
}

std::string ConfigWriter::text_of(const std::map<int64_t, int64_t>& value) const {
  std::string all;
  for (const auto& [from, to] : value) all += fmt::format("{}{}: {}", all.empty() ? "" : ", ", from, to);
  return "{" + all + "}";
}

std::string ConfigWriter::text_of(const std::map<std::string, double>& value) const {
  std::string all;
  for (const auto& [name, number] : value)
    all += fmt::format("{}{}: {}", all.empty() ? "" : ", ", in_quotes(name), text_of(number));
  return "{" + all + "}";
}

std::string ConfigWriter::text_of(const Node& value) const {
  std::string all;
  const auto add = [&](const std::string& name, const Node& item) {
    all += (all.empty() ? "" : ", ") + name + (item.kind == Node::Kind::kNull ? "~" : text_of(item));
  };
  switch (value.kind) {
    case Node::Kind::kNull: return "{}";
    case Node::Kind::kScalar: {
      // What could be a number or a word stays bare, so that it keeps its type; the rest is text.
      const bool secret = secret_of(value.scalar) != nullptr;
      const bool bare = !value.quoted && !secret && value.scalar.find_first_not_of(kBareLetters) == std::string::npos;
      return bare && !value.scalar.empty() ? value.scalar : text_of(value.scalar);
    }
    case Node::Kind::kList:
      for (const Node& item : value.list) add("", item);
      return "[" + all + "]";
    case Node::Kind::kMap:
      for (const auto& [name, item] : value.map) add(in_quotes(name) + ": ", item);
      return "{" + all + "}";
  }
  return "";
}

std::string to_yaml(const std::vector<SchemaLine>& lines) {
  std::string text;
  for (const SchemaLine& line : lines) {
    if (!line.alias_of.empty()) continue;
    text += fmt::format("{:{}}{}:{}\n", "", line.depth * 2, line.name, line.is_group ? "" : " " + line.value);
  }
  return text;
}

}  // namespace tessera
