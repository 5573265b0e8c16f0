#include "config/builtin_configs.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"

namespace tessera {
namespace {

std::string last_part(std::string_view name) {
  return std::string(name.substr(name.rfind('/') + 1));  // all of it where there is no '/'
}

std::vector<const EmbeddedFile*> trainings_ending_in(const std::string& part) {
  std::vector<const EmbeddedFile*> found = builtin_trainings();
  std::erase_if(found, [&](const EmbeddedFile* training) { return last_part(training->name) != part; });
  return found;
}

// configs/NAME.yaml is the name's file in the source tree; any other NAME.yaml is a file of the user's, there or not.
std::string name_in(std::string given) {
  const std::string folder = "configs/", extension = ".yaml";
  if (given.starts_with(kBuiltinPrefix)) return given.substr(std::string_view(kBuiltinPrefix).size());
  if (given.starts_with(folder) && given.ends_with(extension))
    return given.substr(folder.size(), given.size() - folder.size() - extension.size());
  return given;
}

}  // namespace

const EmbeddedFile* find_builtin_config(const std::string& given) {
  const std::string name = name_in(given);
  if (const EmbeddedFile* exact = find_embedded(builtin_configs(), name)) return exact;
  const auto found = trainings_ending_in(name);
  if (found.size() > 1) {
    std::vector<std::string_view> names;
    for (const EmbeddedFile* training : found) names.push_back(training->name);
    fail_usage("'{}' is the end of {} built-in configs: {}; give the whole name of one", given, names.size(),
               fmt::join(names, ", "));
  }
  return found.empty() ? nullptr : found.front();
}

std::vector<const EmbeddedFile*> builtin_trainings() {
  std::vector<const EmbeddedFile*> found;
  for (const EmbeddedFile& config : builtin_configs()) {
    const auto begins = [&](const char* folder) { return config.name.starts_with(folder); };
    if (!begins("base/") && !begins("recipes/") && !begins("studies/") && !begins("suites/")) found.push_back(&config);
  }
  return found;
}

std::vector<std::string> builtin_config_words() {
  std::vector<std::string> words, parts;
  for (const EmbeddedFile* training : builtin_trainings()) {
    words.emplace_back(training->name);
    const std::string part = last_part(training->name);
    if (part != training->name && trainings_ending_in(part).size() == 1) parts.push_back(part);
  }
  words.insert(words.end(), parts.begin(), parts.end());
  return words;
}

std::string summary_of(const EmbeddedFile& config) {
  if (!config.content.starts_with("#")) return "";
  const std::string_view line = config.content.substr(0, config.content.find('\n'));
  const size_t begin = line.find_first_not_of("# ");
  return begin == std::string_view::npos ? "" : std::string(line.substr(begin));
}

}  // namespace tessera
