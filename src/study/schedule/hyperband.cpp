#include "study/schedule/hyperband.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace tessera {
namespace {

constexpr double kRounding = 1e-9;
constexpr double kMostRungs = 500;  // beyond them brackets are more than the studies that fill them

}  // namespace

std::vector<Hyperband::Shape> Hyperband::shapes(const HyperbandConfig& config) {
  const auto grace = static_cast<double>(config.grace), max = static_cast<double>(config.max);
  int64_t most = 0;
  while (grace * std::pow(config.reduction, static_cast<double>(most + 1)) <= max * (1 + kRounding)) ++most;
  std::vector<Shape> shapes;
  for (int64_t s = most; s >= 0; --s) {
    const double trials =
        static_cast<double>(most + 1) * std::pow(config.reduction, static_cast<double>(s)) / static_cast<double>(s + 1);
    Shape shape{.trials = static_cast<int64_t>(std::ceil(trials * (1 - kRounding)))};
    for (int64_t rung = 0; rung <= s; ++rung) {
      const double step = max * std::pow(config.reduction, static_cast<double>(rung - s));
      shape.steps.push_back(static_cast<int64_t>(std::ceil(step * (1 - kRounding))));
    }
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

Hyperband::Hyperband(const HyperbandConfig& config, const ScheduleContext& context) : config_(config), context_(context) {
  TSR_CHECK_USAGE(static_cast<double>(config.grace) * config.reduction <= static_cast<double>(config.max) * (1 + kRounding),
                  "scheduler hyperband: between grace {} and max {} there is no second rung with reduction {}: no trial could "
                  "be stopped early",
                  config.grace, config.max, config.reduction);
  const double rungs =
      std::log(static_cast<double>(config.max) / static_cast<double>(config.grace)) / std::log(config.reduction);
  TSR_CHECK_USAGE(rungs <= kMostRungs,
                  "scheduler hyperband: with reduction {} there are {:.0f} rungs between grace {} and max {}; expected at most "
                  "{:.0f}: take a larger reduction",
                  config.reduction, rungs, config.grace, config.max, kMostRungs);
  shapes_ = shapes(config_);
  for (const Shape& shape : shapes_) cycle_ += shape.trials;
}

Hyperband::Bracket& Hyperband::bracket_of(int64_t number) {
  int64_t first = number / cycle_ * cycle_;
  const Shape* shape = shapes_.data();
  while (number >= first + shape->trials) first += (shape++)->trials;
  Bracket& bracket = brackets_[first];
  if (bracket.shape != nullptr) return bracket;
  bracket.shape = shape;
  int64_t trials = shape->trials;
  if (context_.num_trials > 0) trials = std::clamp(context_.num_trials - first, int64_t{1}, trials);
  trials = std::max(trials, number - first + 1);
  for (int64_t i = 0; i < trials; ++i) {
    bracket.members.push_back({.number = first + i});
    bracket.members.back().scores.resize(shape->steps.size());
  }
  return bracket;
}

std::vector<Hyperband::Fate> Hyperband::fates(const Bracket& bracket) const {
  const auto size = static_cast<double>(bracket.members.size());
  std::vector<Fate> all(bracket.members.size(), Fate::kOpen);
  std::vector<bool> takes_part(bracket.members.size(), true);
  int64_t unknown = 0;  // places of this rung whose trials are not known yet
  for (size_t rung = 0; rung + 1 < bracket.shape->steps.size(); ++rung) {
    int64_t pending = unknown;
    std::vector<Standing> there;  // `trial`: the place among the members
    for (size_t i = 0; i < bracket.members.size(); ++i) {
      const Member& member = bracket.members[i];
      if (!takes_part[i]) continue;
      if (member.scores[rung]) {
        there.push_back({*member.scores[rung], static_cast<int64_t>(i)});
      } else if (!is_finished(member.state)) {
        ++pending;
      }
    }
    std::sort(there.begin(), there.end());
    const double share = std::pow(config_.reduction, -static_cast<double>(rung + 1));
    const int64_t quota = std::max(int64_t{1}, static_cast<int64_t>(size * share * (1 + kRounding)));
    takes_part.assign(bracket.members.size(), false);
    int64_t passed = 0;
    for (size_t rank = 0; rank < there.size(); ++rank) {
      const auto i = static_cast<size_t>(there[rank].trial);
      const bool is_last_score = bracket.members[i].reached == rung + 1;
      const bool goes_on = static_cast<int64_t>(rank) + pending < quota, is_out = static_cast<int64_t>(rank) >= quota;
      takes_part[i] = goes_on;
      passed += goes_on ? 1 : 0;
      if (is_last_score) all[i] = goes_on ? Fate::kGoesOn : is_out ? Fate::kIsOut : Fate::kOpen;
    }
    const int64_t places = std::min(quota, static_cast<int64_t>(there.size()) + pending);
    unknown = places - passed;
  }
  return all;
}

void Hyperband::note_ready(Bracket& bracket) {
  for (const auto& entry : bracket.ready) ready_.erase(entry);
  bracket.ready.clear();
  const std::vector<Fate> fate = fates(bracket);
  for (size_t i = 0; i < bracket.members.size(); ++i) {
    const Member& member = bracket.members[i];
    if (member.state == TrialState::kPaused && fate[i] == Fate::kGoesOn)
      bracket.ready.emplace_back(-static_cast<int64_t>(member.reached), member.number);
  }
  ready_.insert(bracket.ready.begin(), bracket.ready.end());
}

void Hyperband::observe(const Trial& trial) {
  if (trial.number < 0) return;  // of an earlier study
  Bracket& bracket = bracket_of(trial.number);
  Member& member = bracket.members[static_cast<size_t>(trial.number - bracket.members[0].number)];
  member.state = trial.state;
  for (const Report& report : trial.reports) {
    while (member.reached < member.scores.size() && report.step >= bracket.shape->steps[member.reached])
      member.scores[member.reached++] = score_of(report.value, context_.direction);
  }
  note_ready(bracket);
  // Nobody asks for a bracket any more whose trials have all ended.
  const bool is_over =
      std::all_of(bracket.members.begin(), bracket.members.end(), [](const Member& m) { return is_finished(m.state); });
  if (is_over) brackets_.erase(bracket.members[0].number);
}

Decision Hyperband::decide(const Trial& trial) {
  observe(trial);
  const Bracket& bracket = bracket_of(trial.number);
  const auto own = static_cast<size_t>(trial.number - bracket.members[0].number);
  const Member& member = bracket.members[own];
  const std::vector<int64_t>& steps = bracket.shape->steps;
  if (member.reached == 0) return {.until = steps[0]};
  if (member.reached == steps.size()) return {.kind = Decision::Kind::kFinish};
  switch (fates(bracket)[own]) {
    case Fate::kGoesOn: return {.until = steps[member.reached]};
    case Fate::kOpen: return {.kind = Decision::Kind::kPause};
    case Fate::kIsOut: break;
  }
  return {.kind = Decision::Kind::kStop,
          .reason = fmt::format("{:.6g} at step {} is not among the best 1/{:.3g} of its rung", trial.reports.back().value,
                                trial.reports.back().step, config_.reduction)};
}

std::optional<Promotion> Hyperband::promote() {
  if (ready_.empty()) return std::nullopt;
  const auto [rungs, number] = *ready_.begin();
  return Promotion{.trial = number, .until = bracket_of(number).shape->steps[static_cast<size_t>(-rungs)]};
}

}  // namespace tessera
