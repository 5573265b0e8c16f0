#include "config/node.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "config/builtin_configs.h"
#include "config/environment.h"
#include "config/yaml_size.h"
#include "core/error.h"
#include "core/files.h"
#include "core/suggest.h"

namespace tessera {
namespace {

Node convert(const YAML::Node& yaml, const std::string& file, int depth = 0) {
  Node node;
  node.origin = {file, yaml.Mark().line >= 0 && !file.empty() ? yaml.Mark().line + 1 : 0};
  if (depth > 50) fail_usage("{}: nested more than 50 levels deep", node.origin.text());
  if (yaml.IsScalar()) {
    node.kind = Node::Kind::kScalar;
    node.scalar = yaml.Scalar();
    node.quoted = yaml.Tag() == "!";
  } else if (yaml.IsSequence()) {
    node.kind = Node::Kind::kList;
    for (const auto& item : yaml) node.list.push_back(convert(item, file, depth + 1));
  } else if (yaml.IsMap()) {
    node.kind = Node::Kind::kMap;
    std::unordered_set<std::string> keys;
    for (const auto& entry : yaml) {
      const std::string key = entry.first.as<std::string>();
      Node value = convert(entry.second, file, depth + 1);
      // For an empty value yaml-cpp has no mark; the key's line is the one the user looks for.
      value.origin.line = !file.empty() ? entry.first.Mark().line + 1 : 0;
      if (!keys.insert(key).second) fail_usage("{}: the key '{}' stands twice", value.origin.text(), key);
      node.map.emplace_back(key, std::move(value));
    }
  }
  return node;
}

// Calls `change` with the origin of every value.
template <class F>
void for_each_origin(Node& node, const F& change) {
  change(node.origin);
  for (Node& item : node.list) for_each_origin(item, change);
  for (auto& entry : node.map) for_each_origin(entry.second, change);
}

// Lists, groups and quoted text are YAML. Anything else is taken as it is: in a name '#' begins no comment and ': ' no group,
// and nothing is not the default.
Node override_value(const std::string& assignment, size_t begin) {
  constexpr const char* kSpace = " \t\n";
  const size_t first = assignment.find_first_not_of(kSpace, begin), last = assignment.find_last_not_of(kSpace);
  const std::string text = first == std::string::npos ? "" : assignment.substr(first, last + 1 - first);
  const bool is_yaml = !text.empty() && std::string("[{'\"").find(text[0]) != std::string::npos;
  Node value;
  if (text == "null") return value;
  value.kind = Node::Kind::kScalar;
  value.scalar = text;
  if (!is_yaml) return value;
  try {
    check_yaml_size(text, "");
    return convert(YAML::Load(text), "");
  } catch (const YAML::Exception& e) {
    fail_usage("'{}': the value is not valid YAML: {}", assignment, e.msg);
  }
}

// Where YAML wants spaces. The parser's own message is about what it made of the tab.
std::string tab_hint(const std::string& text) {
  int line = 1;
  for (size_t begin = 0; begin < text.size(); ++line) {
    const size_t first = text.find_first_not_of(' ', begin);
    if (first != std::string::npos && text[first] == '\t')
      return fmt::format(" (line {} is indented by a tab: YAML takes spaces only)", line);
    const size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;
    begin = end + 1;
  }
  return "";
}

std::vector<std::string> take_bases(Node& root) {
  std::vector<std::string> names;
  const auto entry = std::find_if(root.map.begin(), root.map.end(), [](const auto& e) { return e.first == "base"; });
  if (entry == root.map.end()) return names;
  const Node& base = entry->second;
  if (base.kind == Node::Kind::kScalar) names.push_back(interpolate(base.scalar, base.origin));
  for (const Node& item : base.list) names.push_back(interpolate(item.scalar, item.origin));
  if (names.empty()) fail_usage("{}: 'base' expects a file name or a list of them", base.origin.text());
  root.map.erase(entry);
  return names;
}

// read: all that was read before for the same config; this text is added.
Node parse(const std::string& text, const std::string& name, YamlExtent& read) {
  try {
    read = check_yaml_size(text, name, read);
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() > 1)
      fail_usage("{}: expected one config, the file holds {} (parted by '---' lines)", name, documents.size());
    return documents.empty() ? Node{} : convert(documents[0], name);
  } catch (const YAML::Exception& e) {
    fail_usage("{}:{}: not valid YAML: {}{}", name, e.mark.line + 1, e.msg, tab_hint(text));
  }
}

// Ten files that each name the next one ten times would be read 10^10 times.
constexpr int kMaxBaseFiles = 1000;

struct Loading {
  std::vector<std::string> open;  // the config, and those that name it as a base
  int layers = 0, files = 0;
  YamlExtent read;
};

// Where a config comes from: a file, or one of those that the program carries.
struct ConfigSource {
  fs::path file;
  const EmbeddedFile* builtin = nullptr;  // then `file` is empty

  std::string name() const { return builtin != nullptr ? kBuiltinPrefix + std::string(builtin->name) : file.string(); }
  std::string identity() const;  // the same for one file under two names
  std::string text() const;
  ConfigSource base(const std::string& given) const;
};

bool is_file_or_pipe(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error) && !fs::is_directory(path, error);
}

// A file goes first: what is on the disk can be seen and changed.
ConfigSource source_of(const fs::path& given) {
  if (is_file_or_pipe(given)) return {given};
  if (const EmbeddedFile* builtin = find_builtin_config(given.string())) return {{}, builtin};
  std::error_code error;
  if (fs::is_directory(given, error))
    fail_usage("{} is a folder, where a config is expected; if it holds the data, say data.path={}", given.string(),
               given.string());
  if (fs::exists(given, error)) return {given};  // reading it says what is wrong
  const std::vector<std::string> words = builtin_config_words();
  fail_usage(
      "no config '{}': No such file or directory, and no built-in config of that name{}; `tessera config list` lists them",
      given.string(), did_you_mean(given.string(), words));
}

std::string ConfigSource::identity() const {
  if (builtin != nullptr) return name();
  std::error_code error;
  const fs::path real = fs::weakly_canonical(file, error);
  return error ? file.string() : real.string();  // a pipe has no other name
}

std::string ConfigSource::text() const {
  return builtin != nullptr ? std::string(builtin->content) : read_text_or_pipe(file);
}

// A base is named relative to the config that names it; a file may also build on a built-in one.
ConfigSource ConfigSource::base(const std::string& given) const {
  if (builtin == nullptr) {
    const fs::path beside = file.parent_path() / given;
    return !is_file_or_pipe(beside) && find_builtin_config(given) != nullptr ? source_of(given) : source_of(beside);
  }
  const fs::path beside = (fs::path(builtin->name).parent_path() / given).lexically_normal().replace_extension();
  return source_of(kBuiltinPrefix + beside.string());
}

Node load(const ConfigSource& source, Loading& all) {
  const std::string name = source.name(), identity = source.identity();
  if (std::find(all.open.begin(), all.open.end(), identity) != all.open.end())
    fail_usage("{}: its 'base' files include one another in a circle", name);
  if (++all.files > kMaxBaseFiles)
    fail_usage("{}: more than {} 'base' files are read, one that is named again counted again", name, kMaxBaseFiles);
  all.open.push_back(identity);
  Node own;
  try {
    own = parse(source.text(), name, all.read);
  } catch (const UsageError&) {
    throw;
  } catch (const Error& e) {
    throw UsageError(e.what());
  }
  if (own.kind == Node::Kind::kNull) own.kind = Node::Kind::kMap;  // an empty file is an empty config
  if (own.kind != Node::Kind::kMap) fail_usage("{}: expected a config of 'key: value' lines", name);
  Node result;
  result.kind = Node::Kind::kMap;
  for (const std::string& base : take_bases(own)) merge(result, load(source.base(base), all));
  for_each_origin(own, [layer = 2 * all.layers++](Origin& origin) { origin.layer = layer; });
  merge(result, own);
  all.open.pop_back();
  return result;
}

}  // namespace

Node::Node() = default;
Node::Node(const Node&) = default;
Node::Node(Node&&) noexcept = default;
Node& Node::operator=(const Node&) = default;
Node& Node::operator=(Node&&) noexcept = default;
Node::~Node() = default;

Node* Node::find(const std::string& key) {
  for (auto& [name, value] : map) {
    if (name == key) return &value;
  }
  return nullptr;
}

const Node* Node::find(const std::string& key) const {
  return const_cast<Node*>(this)->find(key);
}

const Node* find_path(const Node& root, const std::string& key) {
  const Node* at = &root;
  for (size_t begin = 0; at != nullptr && begin <= key.size();) {
    const size_t end = std::min(key.find('.', begin), key.size());
    const std::string part = key.substr(begin, end - begin);
    const bool number = !part.empty() && std::all_of(part.begin(), part.end(), ::isdigit);
    if (at->kind == Node::Kind::kList && number) {
      const size_t index = std::stoul(part.substr(0, 9));
      at = index < at->list.size() ? &at->list[index] : nullptr;
    } else {
      at = at->find(part);
    }
    begin = end + 1;
  }
  return at;
}

Node parse_config(const std::string& text, const std::string& name) {
  YamlExtent read;
  return parse(text, name, read);
}

Node load_config(const fs::path& path) {
  Loading all;
  return load(source_of(path), all);
}

void merge(Node& under, const Node& over) {
  if (under.kind != Node::Kind::kMap || over.kind != Node::Kind::kMap) {
    under = over;
    return;
  }
  // Looked up by an index: a group may have very many keys. Room for all of them keeps the names where the index saw them.
  under.map.reserve(under.map.size() + over.map.size());
  std::unordered_map<std::string_view, size_t> places;
  for (size_t i = 0; i < under.map.size(); ++i) places.emplace(under.map[i].first, i);
  for (const auto& [key, value] : over.map) {
    if (const auto place = places.find(key); place != places.end()) {
      merge(under.map[place->second].second, value);
    } else {
      under.map.emplace_back(key, value);
    }
  }
}

void apply_override(Node& root, const std::string& assignment) {
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    fail_usage("expected key.sub=value, got '{}'", assignment);
  }
  Node value = override_value(assignment, equals + 1);
  const Origin here{"command line", 0, Origin::kCommandLine};
  for_each_origin(value, [&](Origin& origin) { origin = here; });

  Node* at = &root;
  const std::string key = assignment.substr(0, equals);
  for (size_t begin = 0; begin <= key.size();) {
    const size_t end = std::min(key.find('.', begin), key.size());
    const std::string part = key.substr(begin, end - begin);
    if (at->kind == Node::Kind::kList) {
      size_t index = 0;
      const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), index);
      if (error != std::errc() || stop != part.data() + part.size() || index >= at->list.size()) {
        fail_usage("'{}': expected an entry number 0..{} of the list, got '{}'", assignment,
                   static_cast<int>(at->list.size()) - 1, part);
      }
      at = &at->list[index];
    } else {
      if (at->kind != Node::Kind::kMap) {
        *at = Node{};
        at->kind = Node::Kind::kMap;
        at->origin = here;
      }
      if (at->find(part) == nullptr) at->map.emplace_back(part, Node{});
      at = at->find(part);
    }
    begin = end + 1;
  }
  *at = std::move(value);
}

}  // namespace tessera
