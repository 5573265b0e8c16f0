#include "study/space/space_json.h"

#include "core/error.h"

namespace tessera {
namespace {

using nlohmann::json;

constexpr std::array<const char*, 3> kKinds = {"float", "integer", "choice"};

json parameter_json(const Parameter& p) {
  json out{{"name", p.name}, {"kind", kKinds.at(static_cast<size_t>(p.kind))}};
  if (p.kind == Parameter::Kind::kChoice) {
    out["choices"] = json::array();
    for (const Choice& choice : p.choices) out["choices"].push_back({{"value", choice.value}, {"overrides", choice.overrides}});
  } else {
    out.update({{"low", p.low}, {"high", p.high}, {"step", p.step}, {"log", p.log}});
  }
  if (p.normal) out["normal"] = {p.normal->mean, p.normal->sd};
  if (p.exhaustive) out["exhaustive"] = true;
  if (p.points > 0) out["points"] = p.points;
  if (p.when) out["when"] = {{"parameter", p.when->parameter}, {"allowed", p.when->allowed}};
  return out;
}

Parameter parameter_from(const json& in) {
  Parameter p{.name = in.at("name")};
  const std::string kind = in.at("kind");
  p.kind = kind == kKinds[0]   ? Parameter::Kind::kFloat
           : kind == kKinds[1] ? Parameter::Kind::kInteger
                               : Parameter::Kind::kChoice;
  if (p.kind == Parameter::Kind::kChoice) {
    for (const json& choice : in.at("choices"))
      p.choices.push_back({choice.at("value"), choice.at("overrides").get<std::vector<std::string>>()});
  } else {
    p.low = in.at("low"), p.high = in.at("high"), p.step = in.at("step"), p.log = in.at("log");
  }
  if (in.contains("normal")) p.normal = Parameter::Normal{in["normal"].at(0), in["normal"].at(1)};
  p.exhaustive = in.value("exhaustive", false);
  p.points = in.value("points", int64_t{0});
  if (in.contains("when")) p.when = Condition{in["when"].at("parameter"), in["when"].at("allowed").get<std::vector<double>>()};
  return p;
}

}  // namespace

json space_json(const Space& space) {
  json all = json::array();
  for (const Parameter& p : space.parameters()) all.push_back(parameter_json(p));
  return all;
}

Space space_from_json(const json& in) {
  std::vector<Parameter> parameters;
  try {
    for (const json& one : in) parameters.push_back(parameter_from(one));
  } catch (const json::exception& e) {
    fail("the study's space cannot be read: {}; expected what `tessera tune` writes", e.what());
  }
  return Space(std::move(parameters));
}

}  // namespace tessera
