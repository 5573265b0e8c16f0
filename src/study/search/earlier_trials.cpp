#include "study/search/earlier_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "core/error.h"

namespace tessera {
namespace {

const char* word_of(Direction direction) {
  return direction == Direction::kMaximize ? "maximize" : "minimize";
}

std::vector<size_t> places_of(const EarlierStudy& study, const std::vector<Objective>& objectives) {
  std::vector<size_t> places;
  for (const Objective& wanted : objectives) {
    const auto found = std::find_if(study.objectives.begin(), study.objectives.end(),
                                    [&](const Objective& one) { return one.metric == wanted.metric; });
    std::string theirs;
    for (const Objective& one : study.objectives)
      theirs += fmt::format("{}{} {}", theirs.empty() ? "" : ", ", word_of(one.direction), one.metric);
    TSR_CHECK_USAGE(found != study.objectives.end() && found->direction == wanted.direction,
                    "the study '{}' cannot be gone on from: it was to {}; expected one that was to {} {}", study.name, theirs,
                    word_of(wanted.direction), wanted.metric);
    places.push_back(static_cast<size_t>(found - study.objectives.begin()));
  }
  return places;
}

// The value as a number of this space's parameter; none where it is not of its range or its choices.
std::optional<double> translated(const Parameter& to, const Parameter& from, double value) {
  if ((to.kind == Parameter::Kind::kChoice) != (from.kind == Parameter::Kind::kChoice)) return {};
  if (to.kind != Parameter::Kind::kChoice) return to.contains(value) ? std::optional(to.snapped(value)) : std::nullopt;
  const std::string& said = from.choices.at(static_cast<size_t>(from.snapped(value))).value;
  for (size_t i = 0; i < to.choices.size(); ++i) {
    if (to.choices[i].value == said) return static_cast<double>(i);
  }
  return {};
}

// In the terms of `space`; empty, with the parameter at fault, where that cannot be.
std::optional<Assignment> translated(const Space& space, const Space& from, const Assignment& assignment, std::string& fault) {
  Assignment point;
  for (const Parameter& parameter : space.parameters()) {
    if (!space.is_active(parameter, point)) continue;
    const auto value = assignment.find(parameter.name);
    const Parameter* theirs = from.find(parameter.name);
    const auto found =
        value == assignment.end() || theirs == nullptr ? std::nullopt : translated(parameter, *theirs, value->second);
    if (!found) {
      fault = parameter.name;
      return {};
    }
    point[parameter.name] = *found;
  }
  return point;
}

}  // namespace

EarlierTrials earlier_trials(const EarlierStudy& study, const Space& space, const std::vector<Objective>& objectives) {
  const std::vector<size_t> places = places_of(study, objectives);
  EarlierTrials result;
  std::map<std::string, int64_t> left_out;  // by the parameter at fault
  for (const Trial& trial : study.trials) {
    // What a stopped trial reported is of the first objective.
    if (!is_finished(trial.state) || (trial.state == TrialState::kStopped && places.front() != 0)) continue;
    std::string fault;
    const std::optional<Assignment> point = translated(space, study.space, trial.parameters, fault);
    if (!point) {
      ++left_out[fault];
      continue;
    }
    Trial known{.state = trial.state, .parameters = *point, .reports = trial.reports, .reason = trial.reason};
    for (const size_t place : places) {
      if (trial.values.size() == study.objectives.size()) known.values.push_back(trial.values[place]);
    }
    result.trials.push_back(std::move(known));
  }
  for (size_t i = 0; i < result.trials.size(); ++i)
    result.trials[i].number = static_cast<int64_t>(i) - static_cast<int64_t>(result.trials.size());
  for (const auto& [name, count] : left_out)
    result.notes.push_back(fmt::format("{} of {} trials of the study '{}' are left out: their {} is not of this study's space",
                                       count, study.trials.size(), study.name, name));
  for (const Parameter& theirs : study.space.parameters()) {
    if (space.find(theirs.name) == nullptr)
      result.notes.push_back(fmt::format("the study '{}' varied {} too, which is fixed now: what its trials found may not hold",
                                         study.name, theirs.name));
  }
  return result;
}

}  // namespace tessera
