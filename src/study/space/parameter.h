#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

// One entry of a choice. `value` is what Optuna's tables and pages call it: null, true, a number, or a text, as JSON.
struct Choice {
  std::string value;                        // "32", "\"unet\"", "true"
  std::vector<std::string> overrides = {};  // what it says of the config: one "key=value", or all those of a fragment
};

// A parameter that is only there where another one has one of these values.
struct Condition {
  std::string parameter;
  std::vector<double> allowed;  // in internal numbers
};

// One dimension of a Space. Numbers are between low and high, both included; with a step they are low + k * step.
struct Parameter {
  enum class Kind { kFloat, kInteger, kChoice };
  struct Normal {
    double mean = 0, sd = 1;
  };

  std::string name;  // the config's key, or the name of a choice among fragments
  Kind kind = Kind::kFloat;
  double low = 0, high = 1;
  double step = 0;  // 0: none
  bool log = false;
  std::optional<Normal> normal = {};  // drawn from this, cut off at low and high, instead of evenly
  std::vector<Choice> choices = {};
  bool exhaustive = false;  // every choice in turn, also by searchers that draw: Ray Tune's grid_search
  int64_t points = 0;       // of a grid over numbers; 0: not said
  std::optional<Condition> when = {};

  // How many values there are; 0 where they are not countable.
  int64_t cardinality() const;
  // The value nearest to `value` that the parameter can have.
  double snapped(double value) const;
  bool contains(double value) const;
  // The value at `share` (0..1) of its distribution: evenly over the range or its logarithm, over the choices, or as normal
  // numbers are spread. A uniform share gives the parameter's own distribution.
  double at_share(double share) const;
  // The share whose value this is, in the middle of those that a step makes one: at_share(share_of(x)) == snapped(x).
  double share_of(double value) const;
  // As a person would write it: "0.001", "unet".
  std::string text_of(double value) const;
  // The choice that somebody calls so: as text_of() has it, or as the config says it, "1e-3".
  std::optional<double> choice_called(const std::string& text) const;
};

}  // namespace tessera
