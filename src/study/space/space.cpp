#include "study/space/space.h"

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/suggest.h"

namespace tessera {
namespace {

std::vector<std::string> names_of(const std::vector<Parameter>& parameters) {
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters) names.push_back(parameter.name);
  return names;
}

// Those that conditions ask about first, otherwise in the order given.
std::vector<Parameter> in_order_of_conditions(std::vector<Parameter> given) {
  const std::vector<std::string> names = names_of(given);
  std::set<std::string> placed;
  for (const Parameter& parameter : given) {
    TSR_CHECK_USAGE(placed.insert(parameter.name).second, "space: the parameter '{}' stands twice", parameter.name);
    if (!parameter.when) continue;
    const std::string& other = parameter.when->parameter;
    TSR_CHECK_USAGE(std::find(names.begin(), names.end(), other) != names.end(),
                    "space: {} has 'when: {{{}: ...}}', but no parameter is called so{}", parameter.name, other,
                    did_you_mean(other, names));
  }
  placed.clear();
  std::vector<Parameter> ordered;
  while (!given.empty()) {
    const auto next = std::find_if(given.begin(), given.end(), [&](const Parameter& parameter) {
      return !parameter.when || placed.contains(parameter.when->parameter);
    });
    TSR_CHECK_USAGE(next != given.end(), "space: the 'when' of {} depends on itself in a circle", given.front().name);
    placed.insert(next->name);
    ordered.push_back(std::move(*next));
    given.erase(next);
  }
  return ordered;
}

bool is_fragment(const Parameter& parameter) {
  return std::any_of(parameter.choices.begin(), parameter.choices.end(), [&](const Choice& choice) {
    return choice.overrides.size() != 1 || !choice.overrides[0].starts_with(parameter.name + "=");
  });
}

}  // namespace

Space::Space(std::vector<Parameter> parameters) : parameters_(in_order_of_conditions(std::move(parameters))) {}

const Parameter* Space::find(const std::string& name) const {
  const auto found = std::find_if(parameters_.begin(), parameters_.end(), [&](const Parameter& p) { return p.name == name; });
  return found == parameters_.end() ? nullptr : &*found;
}

const Parameter& Space::at(const std::string& name) const {
  const Parameter* found = find(name);
  if (found == nullptr) fail_usage("the space has no parameter '{}'{}", name, did_you_mean(name, names_of(parameters_)));
  return *found;
}

bool Space::is_active(const Parameter& parameter, const Assignment& assignment) const {
  if (!parameter.when) return true;
  const auto other = assignment.find(parameter.when->parameter);
  const std::vector<double>& allowed = parameter.when->allowed;
  return other != assignment.end() && std::find(allowed.begin(), allowed.end(), other->second) != allowed.end();
}

std::vector<std::string> Space::overrides(const Assignment& assignment) const {
  std::vector<std::string> fragments, single;
  for (const Parameter& parameter : parameters_) {
    const auto value = assignment.find(parameter.name);
    if (value == assignment.end()) continue;
    if (parameter.kind != Parameter::Kind::kChoice) {
      single.push_back(parameter.name + "=" + parameter.text_of(value->second));
      continue;
    }
    const Choice& choice = parameter.choices.at(static_cast<size_t>(parameter.snapped(value->second)));
    auto& all = is_fragment(parameter) ? fragments : single;
    all.insert(all.end(), choice.overrides.begin(), choice.overrides.end());
  }
  fragments.insert(fragments.end(), single.begin(), single.end());
  return fragments;
}

Assignment Space::cleaned(const Assignment& assignment) const {
  Assignment cleaned;
  for (const Parameter& parameter : parameters_) {
    if (!is_active(parameter, cleaned)) continue;
    const auto value = assignment.find(parameter.name);
    TSR_CHECK_USAGE(value != assignment.end(), "a point of the study gives no value for {}", parameter.name);
    cleaned[parameter.name] = parameter.snapped(value->second);
  }
  return cleaned;
}

std::string Space::text(const Assignment& assignment) const {
  std::string all;
  for (const Parameter& parameter : parameters_) {
    const auto value = assignment.find(parameter.name);
    if (value != assignment.end()) all += (all.empty() ? "" : " ") + parameter.name + "=" + parameter.text_of(value->second);
  }
  return all;
}

}  // namespace tessera
