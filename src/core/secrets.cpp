#include "core/secrets.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

namespace tessera {
namespace {

constexpr size_t kShortestSecret = 6;
constexpr std::string_view kWordLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

// A longer value may hold a shorter one.
struct LongestFirst {
  bool operator()(const std::string& a, const std::string& b) const {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  }
};

struct Noted {
  std::mutex mutex;
  std::map<std::string, std::string, LongestFirst> variables;  // by value
};

Noted& noted() {
  static Noted instance;
  return instance;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
}

// "ab${X}" -> "***${X}"
std::string mask_literals(std::string_view text) {
  std::string masked;
  while (!text.empty()) {
    const size_t begin = std::min(text.find("${"), text.size()), close = text.find('}', begin);
    const size_t end = close == std::string_view::npos ? begin : close + 1;
    if (begin > 0 || end == begin) masked += kMasked;
    masked += text.substr(begin, end - begin);
    if (end == begin) break;
    text.remove_prefix(end);
  }
  return masked;
}

bool names_variable(std::string_view text) {
  return text.find("${") != std::string_view::npos;
}

// "user:password". The user's name stays beside a password that is a variable; alone it may be a token.
std::string mask_user(std::string_view text) {
  const size_t colon = std::min(text.find(':'), text.size());
  const std::string_view user = text.substr(0, colon), password = text.substr(std::min(colon + 1, text.size()));
  if (!names_variable(text)) return std::string(kMasked);
  const std::string shown = names_variable(password) ? std::string(user) : mask_literals(user);
  return colon == text.size() ? shown : shown + ":" + mask_literals(password);
}

// "name=value" of a query or a fragment.
std::string mask_parameter(std::string_view parameter) {
  static constexpr std::array<std::string_view, 13> kPlain{"alt",     "dl",  "download", "export", "format", "raw",    "ref",
                                                           "resolve", "rev", "revision", "sha256", "v",      "version"};
  constexpr size_t kLongestPlain = 64;  // of a SHA-256
  const size_t equals = parameter.find('=');
  if (equals == std::string_view::npos) return mask_literals(parameter);
  const std::string_view name = parameter.substr(0, equals), value = parameter.substr(equals + 1);
  const bool plain = value.size() <= kLongestPlain && value.find_first_not_of(kWordLetters) == std::string_view::npos;
  if (value.empty() || (plain && std::find(kPlain.begin(), kPlain.end(), name) != kPlain.end())) return std::string(parameter);
  return std::string(name) + "=" + mask_literals(value);
}

// "?a=1&b=2" or "#a=1".
std::string mask_parameters(std::string_view text) {
  std::string masked(text.substr(0, 1));
  for (size_t begin = 1; begin <= text.size();) {
    const size_t end = std::min(text.find_first_of("&;", begin), text.size());
    masked += mask_parameter(text.substr(begin, end - begin));
    if (end < text.size()) masked += text[end];
    begin = end + 1;
  }
  return masked;
}

// Where "user:password" ends, npos where there is none. A password may hold the '/', '?' or '#' that should have been encoded:
// what stands behind the colon of "host:8080/a@b" is a number, else it is the beginning of a password.
size_t end_of_user(std::string_view url) {
  const size_t path = std::min(url.find_first_of("/?#"), url.size());
  if (const size_t at = url.substr(0, path).rfind('@'); at != std::string_view::npos) return at;
  const size_t colon = url.substr(0, path).find(':');
  const bool port = colon == std::string_view::npos ||
                    url.substr(colon + 1, path - colon - 1).find_first_not_of("0123456789") == std::string_view::npos;
  return port ? std::string_view::npos : url.find('@', path);
}

// What follows "scheme://". A ${VARIABLE} may hold any character.
std::string mask_url(std::string_view url) {
  std::string masked;
  if (const size_t at = end_of_user(url); at != std::string_view::npos) {
    masked = mask_user(url.substr(0, at));
    url.remove_prefix(at);
  }
  const size_t query = std::min(url.find_first_of("?#"), url.size());
  masked += url.substr(0, query);
  url.remove_prefix(query);
  while (!url.empty()) {
    const size_t end = std::min(url.find('#', 1), url.size());
    masked += mask_parameters(url.substr(0, end));
    url.remove_prefix(end);
  }
  return masked;
}

}  // namespace

void hide_secret(const std::string& variable, const std::string& value) {
  if (value.size() < kShortestSecret) return;
  const std::lock_guard lock(noted().mutex);
  noted().variables[value] = variable;
}

std::string mask_urls(std::string_view text) {
  constexpr std::string_view kMark = "://", kPunctuation = ".,:;)]}";
  std::string masked;
  for (size_t mark = 0; (mark = text.find(kMark)) != std::string_view::npos;) {
    const size_t begin = mark + kMark.size();
    size_t end = std::min(text.find_first_of(" \t\r\n\"'<>`", begin), text.size());
    // The sentence goes on behind the URL.
    while (end > begin && end < text.size() && kPunctuation.find(text[end - 1]) != std::string_view::npos) --end;
    masked += text.substr(0, begin);
    masked += mask_url(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
  return masked + std::string(text);
}

std::string without_secrets(std::string_view text) {
  std::string shown(text);
  {
    const std::lock_guard lock(noted().mutex);
    for (const auto& [value, variable] : noted().variables) replace_all(shown, value, "${" + variable + "}");
  }
  return mask_urls(shown);
}

}  // namespace tessera
