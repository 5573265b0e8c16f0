#include "study/space/parameter_spec.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/suggest.h"

namespace tessera {
namespace {

// More than a person writes down, and than Optuna's tables carry well: they repeat all choices for each trial.
constexpr size_t kMaxChoices = 1000;
constexpr double kMaxInteger = 0x1p53;

class SpecReader {
 public:
  explicit SpecReader(const ParameterSpec& spec) : spec_(spec) {}

  Parameter parameter() const {
    Parameter p{.name = spec_.name};
    if (spec_.kind == "choice" || spec_.kind == "grid") {
      read_choices(p);
    } else if (spec_.kind == "normal") {
      read_normal(p);
    } else if (spec_.kind == "uniform" || spec_.kind == "log" || spec_.kind == "integer" || spec_.kind == "log_integer") {
      read_range(p);
    } else {
      wrong("the kind '{}' is not known{}; expected one of {}", spec_.kind, did_you_mean(spec_.kind, parameter_kinds()),
            fmt::join(parameter_kinds(), ", "));
    }
    return p;
  }

 private:
  template <class... Args>
  [[noreturn]] void wrong(fmt::format_string<Args...> text, Args&&... args) const {
    fail_usage("{}: {}: {}", spec_.place, spec_.name, fmt::format(text, std::forward<Args>(args)...));
  }

  double number(const std::string& text) const {
    double value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || stop != text.data() + text.size() || !std::isfinite(value))
      wrong("expected a number, got '{}'", text);
    return value;
  }

  double whole(const std::string& text) const {
    const double value = number(text);
    if (value != std::round(value) || std::abs(value) > kMaxInteger) wrong("expected a whole number, got '{}'", text);
    return value;
  }

  void refuse(const std::optional<std::string>& given, const char* option) const {
    if (given) wrong("'{}' is not for '{}'", option, spec_.kind);
  }

  void read_points(Parameter& p) const {
    if (!spec_.points) return;
    p.points = static_cast<int64_t>(whole(*spec_.points));
    if (p.points < 1) wrong("'points' is {}; expected at least 1", *spec_.points);
  }

  void read_step(Parameter& p, double step) const {
    const double width = p.high - p.low;
    if (step <= 0 || step > width) wrong("the step {} is not between 0 and the range's width", *spec_.step);
    if (width / step > kMaxInteger) wrong("the step {} is too small for the range: its steps cannot be counted", *spec_.step);
    p.step = step;
  }

  void read_choices(Parameter& p) const {
    p.kind = Parameter::Kind::kChoice;
    p.exhaustive = spec_.kind == "grid";
    refuse(spec_.step, "step"), refuse(spec_.points, "points"), refuse(spec_.low, "low"), refuse(spec_.high, "high");
    if (spec_.values.empty()) wrong("expected at least one value, got an empty list");
    if (spec_.values.size() > kMaxChoices)
      wrong("has {} values; expected at most {}. A range has as many as you like: {{uniform: [LOW, HIGH]}}",
            spec_.values.size(), kMaxChoices);
    std::set<std::string> seen;
    for (const std::string& value : spec_.values) {
      p.choices.push_back(choice_of(p.name, value));
      if (!seen.insert(p.choices.back().value).second) wrong("the value '{}' stands twice", value);
    }
  }

  void read_range(Parameter& p) const {
    const bool is_integer = spec_.kind == "integer" || spec_.kind == "log_integer";
    refuse(spec_.low, "low"), refuse(spec_.high, "high");
    if (spec_.values.size() != 2) wrong("'{}' expects two numbers, the lowest and the highest", spec_.kind);
    p.kind = is_integer ? Parameter::Kind::kInteger : Parameter::Kind::kFloat;
    p.log = spec_.kind.starts_with("log");
    p.low = is_integer ? whole(spec_.values[0]) : number(spec_.values[0]);
    p.high = is_integer ? whole(spec_.values[1]) : number(spec_.values[1]);
    p.step = is_integer ? 1 : 0;
    read_points(p);
    if (!(p.low < p.high))
      wrong("the range {} .. {} holds no two values; expected the lower end first", spec_.values[0], spec_.values[1]);
    if (p.log && p.low <= 0) wrong("'{}' begins at {}; a logarithm needs more than 0", spec_.kind, spec_.values[0]);
    if (!spec_.step) return;
    if (p.log) wrong("'step' is not for '{}': list the values instead, or leave out the step", spec_.kind);
    read_step(p, is_integer ? whole(*spec_.step) : number(*spec_.step));
    p.high = p.low + p.step * std::floor((p.high - p.low) / p.step + 1e-8);  // as Optuna: the last value that is reached
    p.high = p.snapped(p.high);
  }

  void read_normal(Parameter& p) const {
    constexpr double kWidth = 6;  // standard deviations: beyond them lies one of 5 * 10^8 numbers
    if (spec_.values.size() != 2) wrong("'normal' expects two numbers, the mean and the standard deviation");
    p.normal = Parameter::Normal{number(spec_.values[0]), number(spec_.values[1])};
    if (p.normal->sd <= 0) wrong("the standard deviation {} is not above 0", spec_.values[1]);
    p.low = spec_.low ? number(*spec_.low) : p.normal->mean - kWidth * p.normal->sd;
    p.high = spec_.high ? number(*spec_.high) : p.normal->mean + kWidth * p.normal->sd;
    if (!(p.low < p.high)) wrong("'low' {} is not below 'high' {}", p.low, p.high);
    read_points(p);
    if (!spec_.step) return;
    read_step(p, number(*spec_.step));
    // Steps are multiples of themselves here: quantised numbers around a mean are 0.1, 0.2, ..., wherever the cut is.
    p.low = std::ceil(p.low / p.step - 1e-8) * p.step, p.high = std::floor(p.high / p.step + 1e-8) * p.step;
    p.low = p.snapped(p.low), p.high = p.snapped(p.high);  // 0.3 rather than 3 * 0.1
    if (!(p.low < p.high)) wrong("the step {} leaves no two values", *spec_.step);
  }

  const ParameterSpec& spec_;
};

}  // namespace

const std::vector<std::string>& parameter_kinds() {
  static const std::vector<std::string> kinds{"choice", "grid", "uniform", "log", "integer", "log_integer", "normal"};
  return kinds;
}

Parameter make_parameter(const ParameterSpec& spec) {
  return SpecReader(spec).parameter();
}

// What JSON has a type for is of that type in Optuna's tables too; the rest is text.
Choice choice_of(const std::string& name, const std::string& value) {
  nlohmann::json json = nlohmann::json::parse(value, nullptr, false);
  if (json.is_discarded() || json.is_structured() || json.is_string()) json = value;
  if (value.size() > 1 && value.front() == '\'' && value.back() == '\'') json = value.substr(1, value.size() - 2);
  return {json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), {name + "=" + value}};
}

}  // namespace tessera
