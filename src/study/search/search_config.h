#pragma once
#include <variant>

#include "config/schema.h"

namespace tessera {

struct GridSearchConfig {
  static constexpr std::string_view kName = "grid";
};
template <class V>
void describe(V& /*v*/, GridSearchConfig& /*c*/) {}

struct RandomSearchConfig {
  static constexpr std::string_view kName = "random";
};
template <class V>
void describe(V& /*v*/, RandomSearchConfig& /*c*/) {}

struct SobolSearchConfig {
  static constexpr std::string_view kName = "sobol";
};
template <class V>
void describe(V& /*v*/, SobolSearchConfig& /*c*/) {}

using SearchConfig = std::variant<GridSearchConfig, RandomSearchConfig, SobolSearchConfig>;

}  // namespace tessera
