#pragma once
#include <nlohmann/json.hpp>

#include "config/reader.h"

namespace tessera::testing {

// A config with the values of a fixture, which are named as the config's own.
template <class Config>
Config config_from_json(const nlohmann::json& values) {
  Config config;
  ConfigReader::read_struct(parse_config(values.dump(1), "fixture"), "fixture", config);
  return config;
}

}  // namespace tessera::testing
