#include "apps/train_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "core/printable.h"

namespace tessera {
namespace {

bool is_plain(char c) {
  constexpr std::string_view kPlain = "_./:=,+@%-";
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || kPlain.find(c) != std::string_view::npos;
}

std::string key_of(const std::string& assignment) {
  return assignment.substr(0, assignment.find('='));
}

}  // namespace

std::string shell_word(const std::string& word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  if (printable(word) == word) {
    std::string quoted = "'";
    for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
    return quoted + "'";
  }
  std::string quoted = "$'";
  for (const char c : word) {
    quoted += is_plain(c) || c == ' ' ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return quoted + "'";
}

std::string train_command(const std::string& program, const std::string& config, const std::vector<std::string>& given,
                          const std::vector<std::string>& added) {
  std::string text = shell_word(program) + " train " + shell_word(config);
  for (const std::string& pair : given) {
    const auto replaces = [&](const std::string& other) { return key_of(other) == key_of(pair); };
    if (std::none_of(added.begin(), added.end(), replaces)) text += " " + shell_word(pair);
  }
  for (const std::string& pair : added) text += " " + shell_word(pair);
  return text;
}

std::string run_name_for(const std::string& data_path) {
  std::filesystem::path path(data_path);
  if (!path.empty()) path = std::filesystem::absolute(path).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  std::string name = path.filename().string();
  for (char& c : name) {
    if (!is_plain(c) || c == '=' || c == ':') c = '_';
  }
  return name == "/" || name == "." || name == ".." ? "" : name;
}

}  // namespace tessera
