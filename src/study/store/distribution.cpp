#include "study/store/distribution.h"

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
      return p;
    }
    if (kind == "FloatDistribution" || kind == "IntDistribution") {
      p.kind = kind == "IntDistribution" ? Parameter::Kind::kInteger : Parameter::Kind::kFloat;
      p.low = in.at("low"), p.high = in.at("high"), p.log = in.at("log");
      p.step = in.at("step").is_null() ? 0 : in.at("step").get<double>();
      return p;
    }
    fail("the distribution '{}' of {} is not known; expected a float, an integer or a categorical one", printable(kind),
         printable(name));
  } catch (const json::exception& e) {
    fail("the distribution of {} cannot be read: {}", printable(name), e.what());
  }
}

}  // namespace tessera
