#include "study/space/read_space.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "core/split.h"
#include "core/suggest.h"
#include "study/space/parameter_spec.h"

namespace tessera {
namespace {

constexpr const char* kFragments = "fragments";
const std::vector<std::string> kOptions{"step", "points", "low", "high", "when"};

std::string scalar_of(const Node& node, const std::string& what) {
  if (node.kind != Node::Kind::kScalar) fail_usage("{}: {}: expected one value", node.origin.text(), what);
  return node.scalar;
}

// The value as an override writes it.
std::string override_text(const Node& value) {
  Node line;
  line.kind = Node::Kind::kMap;
  line.map.emplace_back("v", value);
  if (value.kind == Node::Kind::kMap) fail_usage("{}: a value of a choice is a group; use 'fragments'", value.origin.text());
  return fragment_overrides(line)[0].substr(2);
}

std::vector<std::string> values_of(const Node& node, const std::string& name) {
  if (node.kind != Node::Kind::kList) fail_usage("{}: {}: expected a list in brackets", node.origin.text(), name);
  std::vector<std::string> values;
  for (const Node& item : node.list) values.push_back(override_text(item));
  return values;
}

// The kind is the one key of a parameter's group that is no option.
const std::pair<std::string, Node>& kind_of(const std::string& name, const Node& group) {
  std::vector<std::string> known = parameter_kinds();
  known.push_back(kFragments);
  const std::pair<std::string, Node>* found = nullptr;
  for (const auto& entry : group.map) {
    if (std::find(kOptions.begin(), kOptions.end(), entry.first) != kOptions.end()) continue;
    if (std::find(known.begin(), known.end(), entry.first) == known.end()) {
      known.insert(known.end(), kOptions.begin(), kOptions.end());
      fail_usage("{}: {}: unknown key '{}'{}; expected one of {}", entry.second.origin.text(), name, entry.first,
                 did_you_mean(entry.first, known), fmt::join(known, ", "));
    }
    if (found != nullptr) fail_usage("{}: {} is both {} and {}", entry.second.origin.text(), name, found->first, entry.first);
    found = &entry;
  }
  if (found == nullptr)
    fail_usage("{}: {}: expected a list of values, or one of {} and its values", group.origin.text(), name,
               fmt::join(known, ", "));
  return *found;
}

Parameter fragments_parameter(const std::string& name, const Node& fragments, const std::filesystem::path& folder) {
  if (fragments.kind != Node::Kind::kMap || fragments.map.empty())
    fail_usage("{}: {}: expected fragments by name, each a file or a group of 'key: value' lines", fragments.origin.text(),
               name);
  Parameter p{.name = name, .kind = Parameter::Kind::kChoice};
  for (const auto& [label, fragment] : fragments.map) {
    const bool is_file = fragment.kind == Node::Kind::kScalar;
    Choice choice = choice_of(name, "'" + label + "'");  // "8" is a name too
    choice.overrides = fragment_overrides(is_file ? load_config(folder / fragment.scalar) : fragment);
    if (choice.overrides.empty()) fail_usage("{}: the fragment '{}' says nothing", fragment.origin.text(), label);
    p.choices.push_back(std::move(choice));
  }
  return p;
}

// `when` in the words of the file: which values of which parameter.
struct WrittenCondition {
  std::string parameter;
  std::vector<std::string> values;
  std::string place;
};

std::optional<WrittenCondition> condition_of(const std::string& name, const Node& group) {
  const Node* when = group.find("when");
  if (when == nullptr) return std::nullopt;
  if (when->kind != Node::Kind::kMap || when->map.size() != 1)
    fail_usage("{}: {}: 'when' expects one parameter and its values: {{model.name: unet}}", when->origin.text(), name);
  const auto& [parameter, values] = when->map[0];
  std::vector<std::string> texts;
  if (values.kind == Node::Kind::kList) {
    for (const Node& value : values.list) texts.push_back(scalar_of(value, name));
  } else {
    texts.push_back(scalar_of(values, name));
  }
  if (texts.empty())
    fail_usage("{}: {}: 'when' names no value of {}: it would never be in use", when->origin.text(), name, parameter);
  return WrittenCondition{parameter, texts, when->origin.text()};
}

Condition resolved(const WrittenCondition& written, const std::string& name, const std::vector<Parameter>& all) {
  Condition condition{written.parameter, {}};
  const auto other = std::find_if(all.begin(), all.end(), [&](const Parameter& p) { return p.name == written.parameter; });
  if (other == all.end()) return condition;  // Space says so
  if (other->kind != Parameter::Kind::kChoice)
    fail_usage("{}: {}: 'when' asks for values of {}, which is no choice", written.place, name, other->name);
  std::vector<std::string> texts;
  for (size_t i = 0; i < other->choices.size(); ++i) texts.push_back(other->text_of(static_cast<double>(i)));
  for (const std::string& value : written.values) {
    const std::optional<double> found = other->choice_called(value);
    if (!found)
      fail_usage("{}: {}: {} has no value '{}'{}; it has {}", written.place, name, other->name, value,
                 did_you_mean(value, texts), fmt::join(texts, ", "));
    condition.allowed.push_back(*found);
  }
  return condition;
}

Parameter read_parameter(const std::string& name, const Node& node, const std::filesystem::path& folder) {
  const std::string place = node.origin.text();
  if (node.kind == Node::Kind::kList) return make_parameter({name, "choice", values_of(node, name), {}, {}, {}, {}, place});
  if (node.kind != Node::Kind::kMap)
    fail_usage("{}: {}: expected a list of values, or a kind and its values: {{uniform: [0, 1]}}", place, name);
  const auto& [kind, values] = kind_of(name, node);
  if (kind == kFragments) return fragments_parameter(name, values, folder);
  const auto option = [&](const char* key) -> std::optional<std::string> {
    const Node* found = node.find(key);
    return found == nullptr ? std::nullopt : std::optional(scalar_of(*found, name));
  };
  return make_parameter(
      {name, kind, values_of(values, name), option("step"), option("points"), option("low"), option("high"), place});
}

// Parts between commas that are not inside brackets or quotes.
std::vector<std::string> split_values(const std::string& text) {
  std::vector<std::string> parts{""};
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      quote = c == quote ? 0 : quote;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else {
      depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    }
    if (c == ',' && depth == 0 && quote == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return text.empty() ? std::vector<std::string>{} : parts;
}

ParameterSpec parse_flag(const std::string& flag) {
  const size_t equals = flag.find('=');
  TSR_CHECK_USAGE(equals != std::string::npos && equals > 0, "--vary {}: expected KEY=VALUES, as optimizer.lr=log:1e-4:1e-1",
                  flag);
  ParameterSpec spec{.name = flag.substr(0, equals), .kind = "choice", .place = "--vary"};
  const std::string text = flag.substr(equals + 1);
  const size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const std::vector<std::string>& kinds = parameter_kinds();
  if (colon == std::string::npos || kind.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") != std::string::npos) {
    spec.values = split_values(text);
    return spec;
  }
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end() && nearest_name(kind, kinds).empty()) {
    spec.values = split_values(text);  // "http://..." and the like
    return spec;
  }
  spec.kind = kind;
  if (kind == "choice" || kind == "grid") {
    spec.values = split_values(text.substr(colon + 1));
    return spec;
  }
  spec.values = split(text.substr(colon + 1), ':');
  if (spec.values.size() == 3) {
    spec.step = spec.values.back();
    spec.values.pop_back();
  }
  return spec;
}

}  // namespace

Space read_space(const Node& section, const std::filesystem::path& folder) {
  if (section.kind != Node::Kind::kMap || section.map.empty())
    fail_usage("{}: expected the parameters to vary, as optimizer.lr: {{log: [1e-4, 1e-1]}}", section.origin.text());
  std::vector<Parameter> parameters;
  for (const auto& [name, node] : section.map) parameters.push_back(read_parameter(name, node, folder));
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto& [name, node] = section.map[i];
    if (const auto when = condition_of(name, node)) parameters[i].when = resolved(*when, name, parameters);
  }
  return Space(std::move(parameters));
}

Space parse_vary(const std::vector<std::string>& flags) {
  std::vector<Parameter> parameters;
  for (const std::string& flag : flags) parameters.push_back(make_parameter(parse_flag(flag)));
  return Space(std::move(parameters));
}

Node vary_section(const std::vector<std::string>& flags) {
  Node section;
  section.kind = Node::Kind::kMap;
  const auto value_of = [](const std::string& text) {
    Node root;
    root.kind = Node::Kind::kMap;
    apply_override(root, "value=" + text);
    return root.map.at(0).second;
  };
  for (const std::string& flag : flags) {
    const ParameterSpec spec = parse_flag(flag);
    Node values, parameter;
    values.kind = Node::Kind::kList;
    parameter.kind = Node::Kind::kMap;
    for (const std::string& value : spec.values) values.list.push_back(value_of(value));
    parameter.map.emplace_back(spec.kind, std::move(values));
    if (spec.step) parameter.map.emplace_back("step", value_of(*spec.step));
    section.map.emplace_back(spec.name, std::move(parameter));
  }
  return section;
}

}  // namespace tessera
