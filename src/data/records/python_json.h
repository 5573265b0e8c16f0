#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace tessera {

// A value as Python's json.dumps(value, sort_keys=True) writes it, byte for byte. Of numbers whole ones only.
inline std::string python_json(const nlohmann::json& value) {
  std::string text;
  const char* between = "";
  if (value.is_object()) {
    for (const auto& [key, item] : value.items()) {
      text += between + nlohmann::json(key).dump(-1, ' ', true) + ": " + python_json(item);
      between = ", ";
    }
    return "{" + text + "}";
  }
  if (value.is_array()) {
    for (const auto& item : value) {
      text += between + python_json(item);
      between = ", ";
    }
    return "[" + text + "]";
  }
  return value.dump(-1, ' ', true);
}

}  // namespace tessera
