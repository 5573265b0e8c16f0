#pragma once
#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "config/node.h"
#include "config/reader.h"
#include "core/error.h"
#include "core/suggest.h"

namespace tessera {

// A section of a study's file whose settings depend on its `type`: "asha", or {type: asha, max: 30}. The types are the
// variant's alternatives, by their kName. Throws UsageError with file and line.
template <class Variant>
class TypedSection;

template <class... Options>
class TypedSection<std::variant<Options...>> {
 public:
  static std::variant<Options...> read(const Node& section, const std::string& name) {
    const std::vector<std::string> names{std::string(Options::kName)...};
    const Node* type = section.kind == Node::Kind::kMap ? section.find("type") : &section;
    if (type == nullptr || type->kind != Node::Kind::kScalar)
      fail_usage("{}: {}: expected one of {}, or {{type: {}}} with its settings", section.origin.text(), name, joined(names),
                 names.front());
    const auto found = std::find(names.begin(), names.end(), type->scalar);
    if (found == names.end())
      fail_usage("{}: {}: unknown type '{}'{}; expected one of {}", type->origin.text(), name, type->scalar,
                 did_you_mean(type->scalar, names), joined(names));
    std::variant<Options...> value;
    const auto index = static_cast<size_t>(found - names.begin());
    size_t at = 0;
    ((at++ == index ? void(value.template emplace<Options>()) : void()), ...);
    if (section.kind != Node::Kind::kMap) return value;
    Node settings = section;
    std::erase_if(settings.map, [](const auto& entry) { return entry.first == "type"; });
    std::visit([&](auto& options) { ConfigReader::read_struct(settings, name, options); }, value);
    return value;
  }

 private:
  static std::string joined(const std::vector<std::string>& names) {
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
    return all;
  }
};

template <class Variant>
Variant read_typed_section(const Node& section, const std::string& name) {
  return TypedSection<Variant>::read(section, name);
}

}  // namespace tessera
