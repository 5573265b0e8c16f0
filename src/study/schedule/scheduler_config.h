#pragma once
#include <string>
#include <variant>
#include <vector>

#include "config/schema.h"

namespace tessera {

// Steps of all schedulers are those of reports.

struct NoSchedulerConfig {
  static constexpr std::string_view kName = "none";
};
template <class V>
void describe(V& /*v*/, NoSchedulerConfig& /*c*/) {}

enum class AshaRule { kStop, kPromote };
template <>
struct EnumNames<AshaRule> {
  static constexpr std::array<std::string_view, 2> names = {"stop", "promote"};
};

struct AshaConfig {
  static constexpr std::string_view kName = "asha";
  int64_t max = 0;
  int64_t grace = 1;
  double reduction = 4;
  int64_t brackets = 1;
  AshaRule rule = AshaRule::kStop;
};
template <class V>
void describe(V& v, AshaConfig& c) {
  v.field("max", c.max, "step at which a trial is complete; 0: at the end of its training", at_least(0));
  v.field("grace", c.grace, "step of the first rung: no trial is judged earlier", at_least(1));
  v.field("reduction", c.reduction, "one of so many goes on at a rung, and the next rung is so many times as far",
          Check{1, 1000, true});
  v.field("brackets", c.brackets, "trials are spread over so many ladders, each of which begins a rung later", at_least(1));
  v.field("rule", c.rule,
          "stop: who is not among the best at a rung so far ends; promote: everybody pauses at a rung, and goes on when among "
          "the best there");
}

struct HyperbandConfig {
  static constexpr std::string_view kName = "hyperband";
  int64_t max = 0;
  int64_t grace = 1;
  double reduction = 3;
};
template <class V>
void describe(V& v, HyperbandConfig& c) {
  v.field("max", c.max, "step at which a trial is complete; 0: at the end of its training", at_least(0));
  v.field("grace", c.grace, "no trial is judged before this step", at_least(1));
  v.field("reduction", c.reduction, "one of so many goes on at a rung, and the next rung is so many times as far",
          Check{1, 1000, true});
}

struct MedianConfig {
  static constexpr std::string_view kName = "median";
  int64_t grace = 1;
  int64_t samples = 3;
};
template <class V>
void describe(V& v, MedianConfig& c) {
  v.field("grace", c.grace, "no trial is judged before this step, and what it reported earlier does not count", at_least(1));
  v.field("samples", c.samples, "no trial is judged before so many others have come as far", at_least(1));
}

struct PopulationConfig {
  static constexpr std::string_view kName = "pbt";
  int64_t interval = 0;
  int64_t max = 0;
  int64_t population = 0;
  double quantile = 0.25;
  double resample = 0.25;
  bool synch = false;
  std::vector<std::string> mutate = {};
};
template <class V>
void describe(V& v, PopulationConfig& c) {
  v.field("interval", c.interval, "steps between two judgements; must be given", at_least(1));
  v.field("max", c.max, "step at which a trial is complete; 0: at the end of its training", at_least(0));
  v.field("population", c.population, "trials that are judged together; 0: all of the study", at_least(0));
  v.field("quantile", c.quantile, "share of the population that takes the weights of as many of the best", between(0, 0.5));
  v.field("resample", c.resample, "probability that a parameter is drawn anew rather than changed a little", between(0, 1));
  v.field("synch", c.synch,
          "all wait for one another at every judgement, so that the result does not depend on who is faster; otherwise "
          "everybody is judged among those that have come as far");
  v.field("mutate", c.mutate, "parameters that may change within a training; empty: all");
}

using SchedulerConfig = std::variant<NoSchedulerConfig, AshaConfig, HyperbandConfig, MedianConfig, PopulationConfig>;

}  // namespace tessera
