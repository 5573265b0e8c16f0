#include "apps/command.h"

#include <charconv>

#include "config/builtin_configs.h"
#include "core/error.h"
#include "core/files.h"
#include "storage/file_tree.h"
#include "storage/place_url.h"

namespace tessera {
namespace {

// A folder of data, an archive or a URL. A folder that is called as a config of the program is passed over for that, as a file
// never is.
bool names_data(const std::string& word) {
  if (is_setting(word)) return false;
  if (is_url(word)) return true;
  if (!is_folder(word) || find_builtin_config(word) != nullptr) return false;
  std::error_code error;
  TSR_CHECK_USAGE(
      !fs::is_directory(fs::path(word) / "checkpoints", error),
      "{0} is a run, and a config or data was expected: what it learned is used with --weights {0} (eval, predict), "
      "--from {0} (train)",
      word);
  return true;
}

}  // namespace

bool is_setting(const std::string& word) {
  const size_t equals = word.find('=');
  return equals != std::string::npos && equals < word.find("://");
}

void ConfigArguments::add_to(CLI::App& command) {
  command
      .add_option(
          "-c,--config", config,
          "config: a file (YAML or JSON) or the name of a built-in one (`tessera config list`); may also be the first word")
      ->option_text("CONFIG");
  command
      .add_option("words", words,
                  "config, then values to set: optimizer.lr=0.02; a folder, ZIP file or URL of data stands for data.path=...")
      ->option_text("CONFIG key=value ...");
}

fs::path ConfigArguments::file() const {
  fs::path found = config;
  for (const std::string& word : words) {
    if (is_setting(word) || names_data(word)) continue;
    if (!found.empty()) fail_usage("two configs: {} and {}; expected one, then key=value pairs", found.string(), word);
    found = word;
  }
  return found;
}

std::vector<std::string> ConfigArguments::overrides() const {
  std::vector<std::string> found;
  std::string data;
  for (const std::string& word : words) {
    if (is_setting(word)) {
      found.push_back(word);
    } else if (names_data(word)) {
      TSR_CHECK_USAGE(data.empty(), "two places of data: {} and {}; expected one", data, word);
      data = word;
    }
  }
  if (!data.empty()) found.insert(found.begin(), "data.path=" + data);
  return found;
}

Experiment ConfigArguments::load() const {
  return load_experiment(file(), overrides());
}

std::string config_help() {
  Experiment defaults;
  std::string text = "Config keys (set them in the file, or here as key=value):\n";
  for (const SchemaLine& line : experiment_lines(defaults)) {
    if (line.is_group) {
      text += fmt::format("\n{}: {}\n", line.key, line.help);
    } else {
      const std::string range = line.range.empty() ? "" : ", " + line.range;
      text += fmt::format("  {}={}\n      {} ({}{})\n", line.key, line.value, line.help, line.type, range);
    }
  }
  return text;
}

namespace {

CLI::Validator number_from(double least, bool itself, const char* expected, const char* name) {
  return CLI::Validator(
      [=](const std::string& text) {
        double value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool fine =
            error == std::errc() && end == text.data() + text.size() && (value > least || (itself && value == least));
        return fine ? std::string() : fmt::format("expected {}, got '{}'", expected, text);
      },
      name);
}

}  // namespace

CLI::Validator above_zero() {
  return number_from(0, false, "a number above 0", "POSITIVE");
}

CLI::Validator zero_or_more() {
  return number_from(0, true, "0 or a number above it", "NONNEGATIVE");
}

}  // namespace tessera
