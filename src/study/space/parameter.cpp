#include "study/space/parameter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

#include "study/space/normal.h"

namespace tessera {
namespace {

// In steps: what ought to be a whole number of them may be a little more or less.
constexpr double kRounding = 1e-8;

double count_of_steps(const Parameter& p) {
  return std::floor((p.high - p.low) / p.step + kRounding);
}

// Every step has a range of the same width around it, the first and the last one as well.
std::pair<double, double> even_range(const Parameter& p) {
  return {p.low - p.step / 2, (p.step > 0 ? p.low + p.step * count_of_steps(p) : p.high) + p.step / 2};
}

}  // namespace

int64_t Parameter::cardinality() const {
  if (kind == Kind::kChoice) return static_cast<int64_t>(choices.size());
  return step > 0 ? static_cast<int64_t>(count_of_steps(*this)) + 1 : 0;
}

double Parameter::snapped(double value) const {
  if (kind == Kind::kChoice) return std::clamp(std::round(value), 0.0, static_cast<double>(choices.size()) - 1);
  if (step <= 0) return std::clamp(value, low, high);
  const double k = std::clamp(std::round((value - low) / step), 0.0, count_of_steps(*this));
  // 0.1 + 2 * 0.1 is to be 0.3, as a person would have written it, where the step is not finer than that.
  const double sum = low + k * step, written = std::strtod(fmt::format("{:.12g}", sum).c_str(), nullptr);
  return std::abs(written - sum) < kRounding * step ? written : sum;
}

bool Parameter::contains(double value) const {
  if (kind == Kind::kChoice) return value >= 0 && value < static_cast<double>(choices.size()) && value == std::round(value);
  if (step <= 0) return value >= low && value <= high;
  const double k = (value - low) / step, whole = std::round(k);
  // Far from 0 a number cannot be nearer to a fine step than this.
  const double nearest = std::numeric_limits<double>::epsilon() * std::max(std::abs(low), std::abs(high)) / step;
  return whole >= 0 && whole <= count_of_steps(*this) && std::abs(k - whole) < std::min(0.1, kRounding + nearest);
}

double Parameter::at_share(double share) const {
  if (kind == Kind::kChoice) return snapped(std::floor(share * static_cast<double>(choices.size())));
  if (normal) {
    const double a = (low - normal->mean) / normal->sd, b = (high - normal->mean) / normal->sd;
    return snapped(normal->mean + normal->sd * normal_quantile_between(share, a, b));
  }
  const auto [from, to] = even_range(*this);
  if (log) return snapped(std::exp(std::log(from) + share * (std::log(to) - std::log(from))));
  return snapped(from + share * (to - from));
}

double Parameter::share_of(double value) const {
  if (kind == Kind::kChoice) return (snapped(value) + 0.5) / static_cast<double>(choices.size());
  if (normal) {
    const double a = (low - normal->mean) / normal->sd, b = (high - normal->mean) / normal->sd,
                 x = (value - normal->mean) / normal->sd;
    return x <= a ? 0 : std::exp(normal_log_mass(a, std::min(x, b)) - normal_log_mass(a, b));
  }
  const auto [from, to] = even_range(*this);
  if (to <= from) return 0.5;
  const double share = log ? std::log(value / from) / std::log(to / from) : (value - from) / (to - from);
  return std::clamp(share, 0.0, 1.0);
}

std::string Parameter::text_of(double value) const {
  if (kind == Kind::kInteger) return fmt::format("{}", std::llround(value));
  if (kind == Kind::kFloat) return fmt::format("{}", value);
  const nlohmann::json choice = nlohmann::json::parse(choices.at(static_cast<size_t>(snapped(value))).value);
  return choice.is_string() ? choice.get<std::string>() : choice.dump();
}

std::optional<double> Parameter::choice_called(const std::string& text) const {
  const std::string said = name + "=" + text;
  for (size_t i = 0; i < choices.size(); ++i) {
    const std::vector<std::string>& overrides = choices[i].overrides;
    const auto value = static_cast<double>(i);
    if (text_of(value) == text || (overrides.size() == 1 && overrides[0] == said)) return value;
  }
  return {};
}

}  // namespace tessera
