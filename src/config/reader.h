#pragma once
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/class_weights.h"
#include "config/duration.h"
#include "config/micro_batch.h"
#include "config/node.h"
#include "config/schema.h"
#include "config/window_size.h"
#include "core/error.h"
#include "core/image.h"

namespace tessera {

// Fills a config struct from a Node, checking every key, type and range; see Note [One schema]. All complaints are
// UsageErrors that name file:line and the dotted key.
class ConfigReader {
 public:
  ConfigReader(const Node& node, std::string path) : node_(node), path_(std::move(path)) {}

  template <class T>
  void field(const char* name, T& value, const char* /*help*/, Check check = any()) {
    known_.emplace_back(name);
    if (const Node* found = node_.find(name); found != nullptr && found->kind != Node::Kind::kNull)
      read(*found, key(name), value, check);
  }

  template <class T>
  void group(const char* name, T& value, const char* /*help*/) {
    known_.emplace_back(name);
    if (const Node* found = node_.find(name); found != nullptr && found->kind != Node::Kind::kNull)
      read_struct(*found, key(name), value);
  }

  // Keys that are checked as any, but have no place in the struct.
  template <class T>
  void aliases(const char* /*name*/, T older) {
    describe(*this, older);
  }

  // Complains about keys that no field or group took.
  void reject_unknown() const;

  template <class T>
  static void read_struct(const Node& node, const std::string& path, T& value) {
    if (node.kind != Node::Kind::kMap) wrong(node, path, "a group of 'key: value' lines");
    ConfigReader inner(node, path);
    describe(inner, value);
    inner.reject_unknown();
  }

 private:
  std::string key(const std::string& name) const { return path_.empty() ? name : path_ + "." + name; }

  [[noreturn]] static void wrong(const Node& node, const std::string& path, const std::string& expected);
  static void check_range(const Node& node, const std::string& path, double value, const Check& check);
  static size_t enum_index(const Node& node, const std::string& path, const std::vector<std::string>& names);

  static void read(const Node& node, const std::string& path, bool& value, const Check&);
  static void read(const Node& node, const std::string& path, int64_t& value, const Check&);
  static void read(const Node& node, const std::string& path, uint64_t& value, const Check&);  // a seed; to 2^63 - 1
  static void read(const Node& node, const std::string& path, double& value, const Check&);
  static void read(const Node& node, const std::string& path, std::string& value, const Check&);
  static void read(const Node& node, const std::string& path, Size& value, const Check&);
  static void read(const Node& node, const std::string& path, WindowSize& value, const Check&);
  static void read(const Node& node, const std::string& path, MicroBatch& value, const Check&);
  static void read(const Node& node, const std::string& path, Duration& value, const Check&);
  static void read(const Node& node, const std::string& path, ClassWeights& value, const Check&);

  template <NamedEnum E>
  static void read(const Node& node, const std::string& path, E& value, const Check&) {
    const auto& names = EnumNames<E>::names;
    value = static_cast<E>(enum_index(node, path, std::vector<std::string>(names.begin(), names.end())));
  }

  template <class T>
  static void read(const Node& node, const std::string& path, std::optional<T>& value, const Check& check) {
    T inner{};
    read(node, path, inner, check);
    value = std::move(inner);
  }

  template <class T>
  static void read(const Node& node, const std::string& path, std::vector<T>& value, const Check& check) {
    value.clear();
    if (node.kind == Node::Kind::kScalar) {  // one value stands for a list of one
      if (!node.quoted && node.scalar.find(',') != std::string::npos) wrong(node, path, "a list in brackets, such as [a, b]");
      read(node, path, value.emplace_back(), check);
      return;
    }
    if (node.kind != Node::Kind::kList) wrong(node, path, "a list");
    for (size_t i = 0; i < node.list.size(); ++i)
      read(node.list[i], path + "." + std::to_string(i), value.emplace_back(), check);
  }

  static void read(const Node& node, const std::string& path, std::map<int64_t, int64_t>& value, const Check&);
  static void read(const Node& node, const std::string& path, std::map<std::string, double>& value, const Check&);
  static void read(const Node& node, const std::string& path, Node& value, const Check&);  // typed later, by who knows it

  // A tagged entry: `- random_crop: {size: 512}`, or just `- flip` for its defaults.
  template <class... Options>
  static void read(const Node& node, const std::string& path, std::variant<Options...>& value, const Check&) {
    const std::vector<std::string> names{std::string(Options::kName)...};
    const bool bare = node.kind == Node::Kind::kScalar;
    if (!bare && (node.kind != Node::Kind::kMap || node.map.size() != 1)) wrong(node, path, "one entry 'name: {options}'");
    Node tag = node;
    tag.kind = Node::Kind::kScalar;
    tag.scalar = bare ? node.scalar : node.map[0].first;
    const size_t index = enum_index(tag, path, names);
    size_t at = 0;
    ((at++ == index ? void(value.template emplace<Options>()) : void()), ...);
    if (bare || node.map[0].second.kind == Node::Kind::kNull) return;
    std::visit([&](auto& options) { read_struct(node.map[0].second, path + "." + names[index], options); }, value);
  }

  const Node& node_;
  std::string path_;
  std::vector<std::string> known_;
};

}  // namespace tessera
