#include "study/search/tpe_search.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "core/name_hash.h"
#include "study/search/random_search.h"
#include "study/search/sobol.h"
#include "study/search/sobol_search.h"

namespace tessera {
namespace {

// How often a point is drawn anew because it was tried: from the densities, then from the whole space.
constexpr uint32_t kDraws = 8, kRandomDraws = 64;

// Good trials are few however long the study is, and kernels as wide as their number would have them find no narrow valley: of
// all trials these kernels reckon with half.
constexpr double kShareOfClip = 0.5;

// That end between two looks at who is needed no more.
constexpr size_t kEndedBetweenDrops = 256;

uint64_t hash_of(const TpePoint& point) {
  uint64_t hash = name_hash("");
  for (const double value : point) {
    const auto bytes = std::bit_cast<std::array<char, sizeof(double)>>(value == 0 ? 0.0 : value);  // -0.0 is the same point
    hash = name_hash({bytes.data(), bytes.size()}, hash);
  }
  return hash;
}

bool is_of_space(const Space& space, const Assignment& assignment) {
  return std::all_of(space.parameters().begin(), space.parameters().end(), [&](const Parameter& parameter) {
    const auto value = assignment.find(parameter.name);
    return !space.is_active(parameter, assignment) || (value != assignment.end() && parameter.contains(value->second));
  });
}

}  // namespace

// What a suggestion is drawn from: the two densities of each group, made when they are first asked for.
class TpeSearch::Densities {
 public:
  Densities(TpeSearch& search, int64_t number) : search_(search), number_(number), groups_(search.groups_.size()) {}

  // The most promising of some points for the parameters of a group.
  std::vector<double> best_of_group(size_t index, Rng& rng) {
    TpeGroup& group = search_.groups_[index];
    std::optional<Pair>& pair = groups_[index];
    if (!pair) {
      const TpeSearchConfig& config = search_.config_;
      TpeBranch::Parts parts = search_.branches_[group.branch()].parts_without(number_, config.constant_liar);
      ParzenSettings settings = {.prior_weight = config.prior_weight, .magic_clip = config.magic_clip};
      const ParzenEstimator& rest = group.kept_density(parts.rest, settings);
      settings.clip_count = kShareOfClip * static_cast<double>(parts.good.size() + parts.rest.size());
      pair.emplace(Pair{group.density(parts.good, std::move(parts.weights), settings), rest});
    }
    const auto count = static_cast<size_t>(search_.config_.candidates);
    std::vector<std::vector<double>> points(group.members().size(), std::vector<double>(count));
    for (size_t c = 0; c < count; ++c) {
      const std::vector<double> point = pair->good.sample(rng);
      for (size_t i = 0; i < point.size(); ++i) points[i][c] = point[i];
    }
    std::vector<double> ratio = pair->good.log_density(points);
    const std::vector<double> rest = pair->rest.log_density(points);
    for (size_t c = 0; c < count; ++c) ratio[c] -= rest[c];
    const auto best = static_cast<size_t>(std::max_element(ratio.begin(), ratio.end()) - ratio.begin());
    std::vector<double> chosen;
    for (const std::vector<double>& values : points) chosen.push_back(values[best]);
    return chosen;
  }

 private:
  struct Pair {
    ParzenEstimator good;
    const ParzenEstimator& rest;
  };

  TpeSearch& search_;
  int64_t number_;
  std::vector<std::optional<Pair>> groups_;
};

TpeSearch::TpeSearch(const TpeSearchConfig& config, const SearchContext& context)
    : config_(config), context_(context), groups_(tpe_groups(context.space, config.multivariate)) {
  size_t branches = 1;
  for (const TpeGroup& group : groups_) branches = std::max(branches, group.branch() + 1);
  for (size_t i = 0; i < branches; ++i) branches_.emplace_back(context.directions.size());
}

std::optional<Assignment> TpeSearch::suggest(int64_t number) {
  if (branches_.front().ended_without(number) < config_.startup) return first_point(number);
  Densities densities(*this, number);
  const Rng rng(context_.seed, Stream::kStudy, name_hash("search.tpe"), static_cast<uint64_t>(number));
  Assignment point;
  for (uint32_t draw = 0; draw < kDraws + kRandomDraws; ++draw) {
    Rng own = rng.fork(draw);
    point = draw < kDraws ? promising_point(densities, number, own) : random_point(number, own);
    if (!was_tried(point, number)) return point;
  }
  return point;  // everything was tried
}

void TpeSearch::observe(const Trial& trial) {
  if (was_dropped(trial.number)) return;
  const TpePoint now = is_of_space(context_.space, trial.parameters) ? row_of(trial.parameters) : TpePoint{};
  if (const auto before = points_.find(trial.number); before != points_.end() && before->second != now) forget(trial.number);
  if (now.empty()) return;
  const TpePoint& point = points_.try_emplace(trial.number, now).first->second;
  tried_[point].insert(trial.number);
  const Outcome outcome = outcome_of(trial, context_.directions);
  const bool is_final = is_finished(trial.state);
  branches_.front().tell(trial.number, point, outcome, is_final);
  std::set<size_t> in_use = {0};
  for (const TpeGroup& group : groups_) {
    if (point[group.members().front()] != kUnused && in_use.insert(group.branch()).second)
      branches_[group.branch()].tell(trial.number, point, outcome, is_final);
  }
  // With several objectives any trial of a front may come to be among the good ones again.
  if (is_final && context_.directions.size() == 1 && ++ended_since_drop_ >= kEndedBetweenDrops) drop_unneeded();
}

bool TpeSearch::was_dropped(int64_t number) const {
  return number >= 0 && static_cast<size_t>(number) < dropped_.size() && dropped_[static_cast<size_t>(number)];
}

void TpeSearch::drop_unneeded() {
  ended_since_drop_ = 0;
  std::set<int64_t> needed;
  for (const TpeBranch& branch : branches_) branch.note_needed(needed);
  for (auto at = points_.lower_bound(0); at != points_.end();) {  // an earlier study's trials become no more
    const auto& [number, point] = *at;
    if (needed.contains(number)) {
      ++at;
      continue;
    }
    for (TpeBranch& branch : branches_) branch.drop(number);
    const auto numbers = tried_.find(point);
    numbers->second.erase(number);
    tried_by_dropped_.insert(hash_of(point));
    if (numbers->second.empty()) tried_.erase(numbers);
    dropped_.resize(std::max(dropped_.size(), static_cast<size_t>(number) + 1));
    dropped_[static_cast<size_t>(number)] = true;
    at = points_.erase(at);
  }
}

void TpeSearch::forget(int64_t number) {
  for (TpeBranch& branch : branches_) branch.forget(number);
  for (TpeGroup& group : groups_) group.forget_kept();
  const auto known = points_.find(number);
  const auto numbers = tried_.find(known->second);
  numbers->second.erase(number);
  if (numbers->second.empty()) tried_.erase(numbers);
  points_.erase(known);
}

Assignment TpeSearch::placed(int64_t number, const std::function<double(size_t)>& value_of) const {
  Assignment point;
  const std::map<std::string, double> in_turn = values_in_turn(context_.space, number);
  const std::vector<Parameter>& parameters = context_.space.parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!context_.space.is_active(parameters[i], point)) continue;
    const auto turn = in_turn.find(parameters[i].name);
    point[parameters[i].name] = turn != in_turn.end() ? turn->second : value_of(i);
  }
  return point;
}

Assignment TpeSearch::first_point(int64_t number) const {
  return placed(number, [&](size_t i) {
    const Parameter& parameter = context_.space.parameters()[i];
    const auto dimension = static_cast<int>(i);
    return parameter.at_share(dimension < kMaxSobolDimensions ? sobol_share(context_.seed, dimension, number)
                                                              : drawn_share(context_.seed, parameter.name, number));
  });
}

Assignment TpeSearch::random_point(int64_t number, Rng& rng) const {
  return placed(number, [&](size_t i) { return context_.space.parameters()[i].at_share(rng.uniform()); });
}

Assignment TpeSearch::promising_point(Densities& densities, int64_t number, Rng& rng) const {
  std::map<size_t, double> drawn;
  return placed(number, [&](size_t i) {
    // All of a group are in use when its first one is.
    for (size_t g = 0; g < groups_.size() && !drawn.contains(i); ++g) {
      const std::vector<size_t>& members = groups_[g].members();
      if (std::find(members.begin(), members.end(), i) == members.end()) continue;
      const std::vector<double> values = densities.best_of_group(g, rng);
      for (size_t m = 0; m < values.size(); ++m) drawn[members[m]] = values[m];
    }
    const auto value = drawn.find(i);
    return value != drawn.end() ? value->second : context_.space.parameters()[i].at_share(0.5);
  });
}

TpePoint TpeSearch::row_of(const Assignment& assignment) const {
  TpePoint row;
  for (const Parameter& parameter : context_.space.parameters()) {
    const auto value = assignment.find(parameter.name);
    row.push_back(value != assignment.end() && context_.space.is_active(parameter, assignment) ? value->second : kUnused);
  }
  return row;
}

bool TpeSearch::was_tried(const Assignment& assignment, int64_t number) const {
  const TpePoint point = row_of(assignment);
  if (tried_by_dropped_.contains(hash_of(point))) return true;
  const auto numbers = tried_.find(point);
  return numbers != tried_.end() && (numbers->second.size() > 1 || !numbers->second.contains(number));
}

}  // namespace tessera
