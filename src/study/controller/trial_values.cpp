#include "study/controller/trial_values.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/error.h"
#include "core/suggest.h"
#include "study/schedule/schedule_context.h"

namespace tessera {
namespace {

using Fact = double (*)(const LogFollower&);

// What a training tells of itself, besides its evaluations.
const std::map<std::string, Fact>& facts() {
  static const std::map<std::string, Fact> table = {{"images_per_s", [](const LogFollower& log) { return log.images_per_s(); }},
                                                    {"memory_mb", [](const LogFollower& log) { return log.memory_mb(); }},
                                                    {"parameters", [](const LogFollower& log) { return log.parameters(); }},
                                                    {"seconds", [](const LogFollower& log) { return log.seconds(); }}};
  return table;
}

double value_of(const std::string& metric, size_t place, const LogFollower& log, const LogFollower::Evaluation& evaluation) {
  const auto fact = facts().find(metric);
  return fact == facts().end() ? evaluation.values.at(place) : fact->second(log);
}

void check_metric(const std::string& metric, const LogFollower& log) {
  std::vector<std::string> known = log.known_metrics();
  for (std::string& name : training_facts()) known.push_back(std::move(name));
  if (std::find(known.begin(), known.end(), metric) == known.end())
    fail_usage("objectives: the evaluations have no metric '{}'{}; there are {}", metric, did_you_mean(metric, known),
               fmt::join(known, ", "));
}

}  // namespace

std::vector<std::string> training_facts() {
  std::vector<std::string> names;
  for (const auto& [name, fact] : facts()) names.push_back(name);
  return names;
}

std::vector<std::string> metric_names(const std::vector<Objective>& objectives) {
  std::vector<std::string> names;
  for (const Objective& objective : objectives) names.push_back(objective.metric);
  return names;
}

std::vector<Report> new_reports(const Trial& trial, const LogFollower& log, const Objective& objective, StepUnit unit) {
  constexpr double kRounding = 1e-6;
  std::vector<Report> reports;
  int64_t last = trial.reports.empty() ? 0 : trial.reports.back().step;
  for (const LogFollower::Evaluation& evaluation : log.evaluations()) {
    const int64_t step =
        unit == StepUnit::kEpochs ? static_cast<int64_t>(std::floor(evaluation.epoch + kRounding)) : evaluation.step;
    if (step <= last) continue;
    check_metric(objective.metric, log);
    reports.push_back({step, value_of(objective.metric, 0, log, evaluation)});
    last = step;
  }
  return reports;
}

std::vector<double> trial_values(const Trial& trial, const LogFollower& log, const std::vector<Objective>& objectives,
                                 TrialValue which) {
  const Objective& first = objectives.front();
  const LogFollower::Evaluation* chosen = nullptr;
  double best = -std::numeric_limits<double>::infinity();
  for (const LogFollower::Evaluation& evaluation : log.evaluations()) {
    const double score = score_of(value_of(first.metric, 0, log, evaluation), first.direction);
    if (chosen != nullptr && which == TrialValue::kBest && !(score > best)) continue;
    chosen = &evaluation;
    best = score;
  }
  if (chosen == nullptr) return {};
  std::vector<double> values;
  for (size_t i = 0; i < objectives.size(); ++i) {
    check_metric(objectives[i].metric, log);
    values.push_back(value_of(objectives[i].metric, i, log, *chosen));
  }
  // What it had reported before it took the weights of another one.
  for (const Report& report : trial.reports) {
    if (which == TrialValue::kBest && score_of(report.value, first.direction) > best) {
      best = score_of(report.value, first.direction);
      values[0] = report.value;
    }
  }
  return values;
}

}  // namespace tessera
