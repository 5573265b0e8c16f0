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

struct TpeSearchConfig {
  static constexpr std::string_view kName = "tpe";
  int64_t startup = 10;
  int64_t candidates = 24;
  bool multivariate = true;
  bool constant_liar = true;
  double prior_weight = 1;
  bool magic_clip = true;
};
template <class V>
void describe(V& v, TpeSearchConfig& c) {
  v.field("startup", c.startup, "trials that must have ended before their values are looked at; until then Sobol's points",
          at_least(1));
  v.field("candidates", c.candidates, "points that are drawn, of which the most promising one is suggested", Check{1, 10000});
  v.field("multivariate", c.multivariate,
          "parameters of one condition are chosen together, so that what depends on each other is seen; false: each by itself");
  v.field("constant_liar", c.constant_liar, "trials that still run count as bad ones, so that parallel trials differ");
  v.field("prior_weight", c.prior_weight, "weight of the parameters' own ranges, where a trial has 1", positive());
  v.field("magic_clip", c.magic_clip, "no kernel is narrower than the range / min(100, 1 + number of kernels)");
}

struct CmaSearchConfig {
  static constexpr std::string_view kName = "cma";
  double sigma = 1.0 / 6;
  int64_t population = 0;
};
template <class V>
void describe(V& v, CmaSearchConfig& c) {
  v.field("sigma", c.sigma, "width of the first generation around the middle, as a share of each range", Check{0, 1, true});
  v.field("population", c.population, "trials of a generation; 0: 4 + 3 ln(number of parameters)", at_least(0));
}

using SearchConfig = std::variant<GridSearchConfig, RandomSearchConfig, SobolSearchConfig, TpeSearchConfig, CmaSearchConfig>;

}  // namespace tessera
