#include "study/store/distribution.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json_text.h"
#include "core/printable.h"
#include "study/space/parameter_spec.h"

namespace tessera {

using nlohmann::json;

std::string distribution_json(const Parameter& p) {
  switch (p.kind) {
    case Parameter::Kind::kFloat:
      return json_text(
          {{"name", "FloatDistribution"},
           {"attributes",
            {{"step", p.step > 0 ? json(p.step) : json(nullptr)}, {"low", p.low}, {"high", p.high}, {"log", p.log}}}});
    case Parameter::Kind::kInteger:
      return json_text(
          {{"name", "IntDistribution"},
           {"attributes",
            {{"log", p.log}, {"step", std::llround(p.step)}, {"low", std::llround(p.low)}, {"high", std::llround(p.high)}}}});
    case Parameter::Kind::kChoice: break;
  }
  json choices = json::array();
  for (const Choice& choice : p.choices) choices.push_back(json::parse(choice.value));
  return json_text({{"name", "CategoricalDistribution"}, {"attributes", {{"choices", choices}}}});
}

namespace {

// What is computed with a parameter goes by this, and a file may say anything.
void check_range(const Parameter& p) {
  if (p.kind == Parameter::Kind::kChoice) {
    TSR_CHECK(!p.choices.empty(), "the distribution of {} has no choices", printable(p.name));
    return;
  }
  const bool is_range =
      std::isfinite(p.low) && std::isfinite(p.high) && p.low <= p.high && p.step >= 0 && std::isfinite(p.step);
  TSR_CHECK(is_range && (!p.log || p.low > 0), "the distribution of {} goes from {} to {}{}{}, which is no range",
            printable(p.name), p.low, p.high, p.step != 0 ? fmt::format(" in steps of {}", p.step) : "",
            p.log ? " by the logarithm" : "");
}

}  // namespace

Parameter parameter_of(const std::string& name, const std::string& distribution) {
  try {
    const json all = json::parse(distribution);
    const std::string kind = all.at("name");
    const json& in = all.at("attributes");
    Parameter p{.name = name};
    if (kind == "CategoricalDistribution") {
      p.kind = Parameter::Kind::kChoice;
      for (const json& choice : in.at("choices")) {
        const std::string text = choice.is_string() ? choice.get<std::string>() : choice.dump();
        p.choices.push_back({choice.dump(), {name + "=" + text}});
      }
      check_range(p);
      return p;
    }
    if (kind == "FloatDistribution" || kind == "IntDistribution") {
      p.kind = kind == "IntDistribution" ? Parameter::Kind::kInteger : Parameter::Kind::kFloat;
      p.low = in.at("low"), p.high = in.at("high"), p.log = in.at("log");
      p.step = in.at("step").is_null() ? 0 : in.at("step").get<double>();
      check_range(p);
      return p;
    }
    fail("the distribution '{}' of {} is not known; expected a float, an integer or a categorical one", printable(kind),
         printable(name));
  } catch (const json::exception& e) {
    fail("the distribution of {} cannot be read: {}", printable(name), e.what());
  }
}

}  // namespace tessera
