#include "config/recipe.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <sstream>

#include "config/experiment.h"
#include "core/error.h"
#include "core/files.h"
#include "core/suggest.h"

namespace tessera {
namespace {

constexpr std::string_view kFolder = "recipes/", kKey = "recipe=", kAuto = "auto";

struct Named {
  std::string name;
  Origin origin;
};

bool is_path(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json");
}

void remove(Node& map, const std::string& key) {
  std::erase_if(map.map, [&](const auto& entry) { return entry.first == key; });
}

// Takes the name out of the config and the words; nothing for none.
std::optional<Named> take_name(Node& config, std::vector<std::string>& words) {
  std::optional<Named> named;
  if (const Node* in_file = config.find("recipe"); in_file != nullptr && in_file->kind != Node::Kind::kNull) {
    if (in_file->kind != Node::Kind::kScalar)
      fail_usage("{}: recipe expects the name of a recipe or a file", in_file->origin.text());
    named = Named{in_file->scalar, in_file->origin};
  }
  remove(config, "recipe");
  for (const std::string& word : words) {
    if (word.starts_with(kKey)) named = Named{word.substr(kKey.size()), {"command line", 0, Origin::kCommandLine}};
  }
  std::erase_if(words, [](const std::string& word) { return word.starts_with(kKey); });
  if (named && (named->name.empty() || named->name == "none" || named->name == "null")) named.reset();
  return named;
}

// The name as load_config takes it.
std::string place_of(const Named& named) {
  if (is_path(named.name)) {
    const std::filesystem::path folder = std::filesystem::path(named.origin.file).parent_path();
    const bool in_file = named.origin.layer != Origin::kCommandLine;
    return in_file && !named.origin.file.starts_with(kBuiltinPrefix) ? (folder / named.name).string() : named.name;
  }
  const std::string builtin = std::string(kFolder) + named.name;
  if (find_embedded(builtin_configs(), builtin) != nullptr) return kBuiltinPrefix + builtin;
  std::vector<std::string> names{"none", "auto"};
  for (const EmbeddedFile* recipe : builtin_recipes()) names.push_back(recipe_name(*recipe));
  fail_usage("{}: no recipe '{}'{}; there are {}, or a file: ./mine.yaml", named.origin.text(), named.name,
             did_you_mean(named.name, names), fmt::join(names, ", "));
}

// Lists of tables are not merged when bases are laid together: `where` of a recipe's base counts unless the recipe has its own.
Node take_where(Node& recipe) {
  Node where;
  if (const Node* found = recipe.find("where"); found != nullptr) where = *found;
  remove(recipe, "where");
  if (where.kind != Node::Kind::kNull && where.kind != Node::Kind::kList)
    fail_usage("{}: where expects a list of entries {{if: {{key: value}}, set: {{...}}}}", where.origin.text());
  return where;
}

// Booleans have several spellings.
std::string plain_text(const std::string& text) {
  if (text == "yes" || text == "on") return "true";
  return text == "no" || text == "off" ? "false" : text;
}

class Conditions {
 public:
  explicit Conditions(const Node& plain) : plain_(plain) {
    Experiment defaults;
    lines_ = experiment_lines(defaults);
  }

  bool hold(const Node& conditions) const {
    return std::all_of(conditions.map.begin(), conditions.map.end(), [&](const auto& entry) {
      return plain_text(entry.second.scalar) == plain_text(value_of(entry.first, entry.second.origin));
    });
  }

 private:
  std::string value_of(const std::string& key, const Origin& asked) const {
    const auto line = std::find_if(lines_.begin(), lines_.end(), [&](const SchemaLine& l) { return l.key == key; });
    if (line == lines_.end() || line->is_group) {
      std::vector<std::string> keys;
      for (const SchemaLine& l : lines_) keys.push_back(l.key);
      fail_usage("{}: there is no config key '{}'{}", asked.text(), key, did_you_mean(key, keys));
    }
    const Node* set = find_path(plain_, key);
    return set != nullptr && set->kind == Node::Kind::kScalar ? set->scalar : line->value;
  }

  const Node& plain_;
  std::vector<SchemaLine> lines_;
};

Node values_of(const Named& named, const Node& plain) {
  Node values = load_config(place_of(named));
  if (values.find("recipe") != nullptr)
    fail_usage("{}: a recipe names no other; build on it with 'base:'", values.find("recipe")->origin.text());
  const Node where = take_where(values);
  const Conditions conditions(plain);
  for (const Node& entry : where.list) {
    const Node *when = entry.find("if"), *set = entry.find("set");
    const bool complete = when != nullptr && set != nullptr && when->kind == Node::Kind::kMap && set->kind == Node::Kind::kMap;
    if (!complete || entry.map.size() != 2)
      fail_usage("{}: an entry of where expects {{if: {{key: value}}, set: {{...}}}}", entry.origin.text());
    if (conditions.hold(*when)) merge(values, *set);
  }
  return values;
}

void set_layer(Node& node, int layer) {
  node.origin.layer = layer;
  for (Node& item : node.list) set_layer(item, layer);
  for (auto& entry : node.map) set_layer(entry.second, layer);
}

// As merge, but what `under` has from later layers stays.
void lay_between(Node& under, const Node& recipe) {
  if (under.kind == Node::Kind::kMap && recipe.kind == Node::Kind::kMap) {
    for (const auto& [key, value] : recipe.map) {
      if (Node* found = under.find(key)) {
        lay_between(*found, value);
      } else {
        under.map.emplace_back(key, value);
      }
    }
  } else if (under.origin.layer < recipe.origin.layer) {
    under = recipe;
  }
}

}  // namespace

std::vector<const EmbeddedFile*> builtin_recipes() {
  std::vector<const EmbeddedFile*> found;
  for (const EmbeddedFile& config : builtin_configs()) {
    if (config.name.starts_with(kFolder)) found.push_back(&config);
  }
  return found;
}

std::string recipe_name(const EmbeddedFile& recipe) {
  return std::string(recipe.name.substr(kFolder.size()));
}

void apply_words(Node& config, const std::vector<std::string>& all_words, const Node* made) {
  std::vector<std::string> words = all_words;
  const std::optional<Named> named = take_name(config, words);
  const auto apply = [&](Node& node) {
    for (const std::string& word : words) apply_override(node, word);
  };
  if (named) {
    Node plain = config;
    apply(plain);
    if (named->name == kAuto && made == nullptr)
      fail_usage(
          "{}: recipe=auto is made for one's data and device by `tessera train` (on its command line) and by `tessera recipe "
          "auto`, which writes a config",
          named->origin.text());
    Node values = named->name == kAuto ? *made : values_of(*named, plain);
    set_layer(values, named->origin.layer - 1);  // Note [Layers]
    lay_between(config, values);
  }
  apply(config);  // over the recipe: words may change entries of its lists
}

Node recipe_values(const std::string& name, const Node& plain) {
  return values_of({name, {"command line", 0, Origin::kCommandLine}}, plain);
}

std::string comment_at(const Origin& origin) {
  if (origin.line <= 0) return "";
  const EmbeddedFile* builtin = origin.file.starts_with(kBuiltinPrefix) ? find_builtin_config(origin.file) : nullptr;
  std::istringstream text(builtin != nullptr ? std::string(builtin->content) : read_text(origin.file));
  std::string line, above;
  for (int number = 1; std::getline(text, line); ++number) {
    const size_t first = line.find_first_not_of(' ');
    const bool only_comment = first != std::string::npos && line[first] == '#';
    const size_t mark = only_comment ? first : line.find(" #");
    const size_t begin = mark == std::string::npos ? mark : line.find_first_not_of("# ", mark);
    const std::string comment = begin == std::string::npos ? "" : line.substr(begin);
    if (number == origin.line) return comment.empty() ? above : comment;
    above = only_comment ? above + (above.empty() ? "" : " ") + comment : "";
  }
  return "";
}

}  // namespace tessera
