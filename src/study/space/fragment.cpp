#include "core/error.h"
#include "study/space/read_space.h"

namespace tessera {
namespace {

// A value as YAML in flow style. Unlike ConfigWriter's text it keeps ${VAR} as it is: the training reads it.
std::string flow_text(const Node& value, bool inside) {
  const auto joined = [](const auto& items, const auto& text_of) {
    std::string all;
    for (const auto& item : items) all += (all.empty() ? "" : ", ") + text_of(item);
    return all;
  };
  switch (value.kind) {
    case Node::Kind::kNull: return inside ? "~" : "null";
    case Node::Kind::kList: return "[" + joined(value.list, [](const Node& item) { return flow_text(item, true); }) + "]";
    case Node::Kind::kMap:
      return "{" + joined(value.map, [](const auto& entry) { return entry.first + ": " + flow_text(entry.second, true); }) +
             "}";
    case Node::Kind::kScalar: break;
  }
  const std::string& text = value.scalar;
  // An override takes text as it is unless it begins like YAML; inside a list more letters have a meaning.
  const bool plain = inside ? !text.empty() && text.find_first_of(" ,[]{}#&*!|>'\"%@`:") == std::string::npos
                            : text.empty() || std::string("[{'\" \t").find(text[0]) == std::string::npos;
  if (plain && !value.quoted && (inside || text != "null")) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "''" : std::string(1, c);
  return quoted + "'";
}

void add_overrides(const Node& node, const std::string& key, std::vector<std::string>& all) {
  if (node.kind != Node::Kind::kMap) {
    all.push_back(key + "=" + flow_text(node, false));
    return;
  }
  for (const auto& [name, value] : node.map) add_overrides(value, key.empty() ? name : key + "." + name, all);
}

}  // namespace

std::string flow_text(const Node& value) {
  return flow_text(value, true);
}

std::vector<std::string> fragment_overrides(const Node& fragment) {
  if (fragment.kind != Node::Kind::kMap) fail_usage("{}: expected a fragment of 'key: value' lines", fragment.origin.text());
  std::vector<std::string> all;
  add_overrides(fragment, "", all);
  return all;
}

}  // namespace tessera
