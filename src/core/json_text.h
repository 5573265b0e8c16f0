#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace tessera {

// The text of a JSON value. Names of files and classes need not be UTF-8, JSON must be: bytes that are none become U+FFFD
// instead of an exception at the end of the work. indent -1: on one line.
inline std::string json_text(const nlohmann::json& value, int indent = -1) {
  return value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

// A name as it comes back from such a text, to compare with one that does.
inline std::string json_name(const std::string& name) {
  return nlohmann::json::parse(json_text(name)).get<std::string>();
}

}  // namespace tessera
