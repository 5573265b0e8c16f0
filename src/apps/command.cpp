#include "apps/command.h"

#include <charconv>

#include "core/error.h"
#include "core/files.h"

namespace tessera {

void ConfigArguments::add_to(CLI::App& command) {
  command
      .add_option(
          "-c,--config", config,
          "config: a file (YAML or JSON) or the name of a built-in one (`tessera config list`); may also be the first word")
      ->option_text("CONFIG");
  command.add_option("words", words, "config, then values to set: optimizer.lr=0.02 data.train.path=...")
      ->option_text("CONFIG key=value ...");
}

fs::path ConfigArguments::file() const {
  fs::path found = config;
  for (const std::string& word : words) {
    if (word.find('=') != std::string::npos) continue;
    if (!found.empty()) fail_usage("two configs: {} and {}; expected one, then key=value pairs", found.string(), word);
    found = word;
  }
  return found;
}

std::vector<std::string> ConfigArguments::overrides() const {
  std::vector<std::string> found;
  for (const std::string& word : words) {
    if (word.find('=') != std::string::npos) found.push_back(word);
  }
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
