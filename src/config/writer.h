#pragma once
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/class_weights.h"
#include "config/duration.h"
#include "config/environment.h"
#include "config/micro_batch.h"
#include "config/node.h"
#include "config/schema.h"
#include "config/window_size.h"
#include "core/image.h"

namespace tessera {

// One line of a config as text: a leaf `key: value`, a group `key:`, or an entry of a list of groups. The list of lines is
// what `config show`, the run's config.yaml, `--help` and docs/config.md are printed from.
struct SchemaLine {
  std::string key;    // dotted: "optimizer.lr"
  std::string name;   // "lr"
  std::string type;   // "number", "duration", "sgd|adamw"; empty for a group
  std::string value;  // as YAML
  std::string help;
  std::string range;  // "> 0", "0..1"
  int depth = 0;
  bool is_group = false;
  std::string alias_of;  // the key that this one is an older form of; such a line has no value of its own
};

// Walks a config struct and lists its fields with their present values; see Note [One schema].
class ConfigWriter {
 public:
  // Texts that hold secrets are written as the config had them: Note [Secrets].
  template <class T>
  static std::vector<SchemaLine> lines(T& value, std::vector<SecretText> secrets = {}) {
    ConfigWriter writer(std::move(secrets));
    describe(writer, value);
    return std::move(writer.lines_);
  }

  template <class T>
  void field(const char* name, T& value, const char* help, Check check = any()) {
    field_ = prefix_ + name;
    lines_.push_back({prefix_ + name, name, type_of(value), text_of(value), help, range_text(check), depth_, false, ""});
  }

  template <class T>
  void aliases(const char* name, T older) {
    const size_t first = lines_.size();
    describe(*this, older);
    for (size_t i = first; i < lines_.size(); ++i) {
      lines_[i].value = "~";
      lines_[i].alias_of = prefix_ + name;
    }
  }

  template <class T>
  void group(const char* name, T& value, const char* help) {
    lines_.push_back({prefix_ + name, name, "", "", help, "", depth_, true, ""});
    const std::string outer = prefix_;
    prefix_ += std::string(name) + ".";
    ++depth_;
    describe(*this, value);
    --depth_;
    prefix_ = outer;
  }

  explicit ConfigWriter(std::vector<SecretText> secrets = {}) : secrets_(std::move(secrets)) {}
  std::string text_of(const Node& value) const;  // in flow style

 private:
  static std::string range_text(const Check& check);

  static std::string type_of(const bool&) { return "true|false"; }
  static std::string type_of(const int64_t&) { return "whole number"; }
  static std::string type_of(const uint64_t&) { return "whole number"; }
  static std::string type_of(const double&) { return "number"; }
  static std::string type_of(const std::string&) { return "text"; }
  static std::string type_of(const Size&) { return "size"; }
  static std::string type_of(const WindowSize&) { return "auto|size"; }
  static std::string type_of(const MicroBatch&) { return "auto|whole number"; }
  static std::string type_of(const Duration&) { return "duration"; }
  static std::string type_of(const ClassWeights&) { return "auto|" + type_of(WeightMethod{}) + "|list of number"; }
  static std::string type_of(const std::map<int64_t, int64_t>&) { return "table"; }
  static std::string type_of(const std::map<std::string, double>&) { return "table"; }
  static std::string type_of(const Node&) { return "group"; }
  template <NamedEnum E>
  static std::string type_of(const E&) {
    std::string all;
    for (const auto name : EnumNames<E>::names) all += (all.empty() ? "" : "|") + std::string(name);
    return all;
  }
  template <class T>
  static std::string type_of(const std::optional<T>&) {
    return type_of(T{});
  }
  template <class T>
  static std::string type_of(const std::vector<T>&) {
    return "list of " + type_of(T{});
  }
  template <class... Options>
  static std::string type_of(const std::variant<Options...>&) {
    std::string all;
    ((all += (all.empty() ? "" : "|") + std::string(Options::kName)), ...);
    return all;
  }

  std::string text_of(const bool& value) const { return value ? "true" : "false"; }
  std::string text_of(const int64_t& value) const { return std::to_string(value); }
  std::string text_of(const uint64_t& value) const { return std::to_string(value); }
  std::string text_of(const double& value) const;
  std::string text_of(const std::string& value) const;
  std::string text_of(const Size& value) const;
  std::string text_of(const WindowSize& value) const;
  std::string text_of(const MicroBatch& value) const;
  std::string text_of(const Duration& value) const { return value.text(); }
  std::string text_of(const ClassWeights& value) const;
  std::string text_of(const std::map<int64_t, int64_t>& value) const;
  std::string text_of(const std::map<std::string, double>& value) const;
  template <NamedEnum E>
  std::string text_of(const E& value) const {
    return std::string(name_of(value));
  }
  template <class T>
  std::string text_of(const std::optional<T>& value) const {
    return value ? text_of(*value) : "~";
  }
  template <class T>
  std::string text_of(const std::vector<T>& value) const {
    std::string all;
    for (const T& item : value) all += (all.empty() ? "" : ", ") + text_of(item);
    return "[" + all + "]";
  }
  // A tagged entry in flow style: {random_crop: {size: 128, ...}}.
  template <class... Options>
  std::string text_of(const std::variant<Options...>& value) const {
    return std::visit(
        [this](auto options) {
          ConfigWriter entry(secrets_);
          entry.within_ = field_;
          describe(entry, options);
          std::string inside;
          for (const SchemaLine& line : entry.lines_) inside += (inside.empty() ? "" : ", ") + line.name + ": " + line.value;
          return "{" + std::string(options.kName) + ": {" + inside + "}}";
        },
        value);
  }

  // The text that stands in the config's field for this value, where that is a secret; else null.
  const SecretText* secret_of(const std::string& value) const;

  std::vector<SecretText> secrets_;
  std::vector<SchemaLine> lines_;
  std::string prefix_;
  std::string field_;   // the one that is being written
  std::string within_;  // the field that holds the entry of a list which is being written; else empty
  int depth_ = 0;
};

// The lines as a YAML document that reads back to the same values.
std::string to_yaml(const std::vector<SchemaLine>& lines);

}  // namespace tessera
