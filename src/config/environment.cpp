#include "config/environment.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

#include "core/error.h"
#include "core/secrets.h"

namespace tessera {
namespace {

struct Variable {
  std::string name, value;
  bool secret = false;  // by its name, or because the config says so
};

struct Resolved {
  std::string text;
  std::vector<Variable> variables;  // that are set
  std::string missing;              // the first that is not
};

// "PASS" of "DB_PASS": a word between underscores.
bool has_word(std::string_view name, std::string_view word) {
  for (size_t at = 0; (at = name.find(word, at)) != std::string_view::npos; ++at) {
    const size_t end = at + word.size();
    if ((at == 0 || name[at - 1] == '_') && (end == name.size() || name[end] == '_')) return true;
  }
  return false;
}

bool has_secret_name(std::string name) {
  static constexpr std::array<std::string_view, 6> kAnywhere{"TOKEN",  "SECRET",     "PASSWORD",
                                                             "PASSWD", "PASSPHRASE", "CREDENTIAL"};
  static constexpr std::array<std::string_view, 9> kWords{"PASS",   "PWD", "PAT",       "AUTH", "COOKIE",
                                                          "BEARER", "JWT", "SIGNATURE", "SAS"};
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const auto found = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  if (name == "PWD") return false;  // the shell's current folder
  return std::any_of(kAnywhere.begin(), kAnywhere.end(), found) ||
         std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) { return has_word(name, word); }) ||
         name.ends_with("KEY") || found("KEY_") || found("KEYS_") || name.ends_with("KEYS");
}

// ${VAR} and ${VAR:-default}; $$ is a dollar sign. "~/" at the beginning is the home folder: a shell leaves it in key=~/x.
Resolved resolve(const std::string& text, const std::string& key, const Origin& origin, MissingSecrets missing) {
  constexpr std::string_view kSecret = "secret:";
  const char* const home = text.starts_with("~/") ? std::getenv("HOME") : nullptr;
  Resolved result;
  result.text = home != nullptr ? home : "";
  for (size_t i = home != nullptr ? 1 : 0; i < text.size(); ++i) {
    if (text[i] != '$' || i + 1 == text.size()) {
      result.text += text[i];
    } else if (text[i + 1] == '$') {
      result.text += '$';
      ++i;
    } else if (text[i + 1] == '{') {
      const size_t close = text.find('}', i);
      if (close == std::string::npos) fail_usage("{}: '{}': a '${{' is not closed by '}}'", origin.text(), text);
      std::string inside = text.substr(i + 2, close - i - 2);
      const bool marked = inside.starts_with(kSecret);
      if (marked) inside.erase(0, kSecret.size());
      const size_t dash = inside.find(":-");
      const std::string name = inside.substr(0, dash);
      const bool secret = marked || has_secret_name(name);
      if (const char* value = std::getenv(name.c_str()); value != nullptr) {
        result.text += value;
        result.variables.push_back({name, value, secret});
      } else if (dash != std::string::npos) {
        result.text += inside.substr(dash + 2);
        result.variables.push_back({name, "", secret});
      } else if (missing == MissingSecrets::kKeep && (secret || origin.layer != Origin::kCommandLine)) {
        result.text += text.substr(i, close + 1 - i);
        if (result.missing.empty()) result.missing = name;
      } else {
        fail_usage("{}: the environment variable {} is not set; export {}=..., {}or write ${{{}:-default}}", origin.text(),
                   name, name, key.empty() ? "" : fmt::format("set {}=..., ", key), name);
      }
      i = close;
    } else {
      result.text += '$';
    }
  }
  return result;
}

// Whether the text is to be saved as it was written. Notes the variables that make it so.
bool holds_secrets(const Resolved& resolved) {
  const std::string shown = mask_urls(resolved.text);
  bool found = !resolved.missing.empty();
  for (const Variable& variable : resolved.variables) {
    const bool masked = shown != resolved.text && !variable.value.empty() && shown.find(variable.value) == std::string::npos;
    if (!variable.secret && !masked) continue;
    found = true;
    hide_secret(variable.name, variable.value);
  }
  return found;
}

void resolve_node(Node& node, const std::string& key, MissingSecrets missing, std::vector<SecretText>& secrets) {
  const auto below = [&](const std::string& name) { return key.empty() ? name : key + "." + name; };
  if (node.kind == Node::Kind::kScalar) {
    const Resolved resolved = resolve(node.scalar, key, node.origin, missing);
    if (holds_secrets(resolved)) secrets.push_back({key, node.scalar, resolved.text, resolved.missing});
    node.scalar = resolved.text;
  }
  for (size_t i = 0; i < node.list.size(); ++i) resolve_node(node.list[i], below(std::to_string(i)), missing, secrets);
  for (auto& [name, value] : node.map) resolve_node(value, below(name), missing, secrets);
}

}  // namespace

std::string interpolate(const std::string& text, const Origin& origin) {
  return resolve(text, "", origin, MissingSecrets::kRefuse).text;
}

std::vector<SecretText> resolve_environment(Node& node, MissingSecrets missing) {
  std::vector<SecretText> secrets;
  resolve_node(node, "", missing, secrets);
  return secrets;
}

}  // namespace tessera
