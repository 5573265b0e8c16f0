#include "report/html.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json_text.h"

namespace tessera {

std::string escape_html(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      case '\'': safe += "&#39;"; break;
      default: safe += c;
    }
  }
  return safe;
}

std::string json_for_script(const nlohmann::json& value) {
  const std::string raw = json_text(value);
  std::string safe;
  safe.reserve(raw.size());
  for (const char c : raw) {
    if (c == '<') {
      safe += "\\u003c";  // '<' occurs only inside JSON strings, where this means the same
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string base64(std::span<const uint8_t> bytes) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t have = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) group = (group << 8) | (k < have ? bytes[i + k] : 0U);
    for (size_t k = 0; k < 4; ++k) text += k <= have ? kAlphabet[(group >> (18 - 6 * k)) & 63U] : '=';
  }
  return text;
}

std::string png_element(std::span<const uint8_t> png, std::string_view alt) {
  return fmt::format(R"(<img loading="lazy" alt="{}" src="data:image/png;base64,{}">)", escape_html(alt), base64(png));
}

std::string fill_template(std::string_view text, const std::map<std::string, std::string, std::less<>>& values) {
  std::string filled;
  while (true) {
    const size_t open = text.find("{{");
    if (open == std::string_view::npos) break;
    const size_t close = text.find("}}", open);
    TSR_CHECK(close != std::string_view::npos, "page template: '{{{{' without '}}}}'");
    const std::string_view name = text.substr(open + 2, close - open - 2);
    const auto value = values.find(name);
    TSR_CHECK(value != values.end(), "page template: no value for '{}'", name);
    filled += text.substr(0, open);
    filled += value->second;
    text.remove_prefix(close + 2);
  }
  return filled.append(text);
}

}  // namespace tessera
