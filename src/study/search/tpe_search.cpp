#include "study/search/tpe_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/name_hash.h"
#include "study/search/parzen_estimator.h"
#include "study/search/random_search.h"
#include "study/search/sobol.h"
#include "study/search/sobol_search.h"
#include "study/search/tpe_split.h"

namespace tessera {
namespace {

constexpr double kUnused = std::numeric_limits<double>::infinity();  // no parameter has this value

// How often a point is drawn anew because it was tried: from the densities, then from the whole space.
constexpr uint32_t kDraws = 8, kRandomDraws = 64;

// Good trials are few however long the study is, and kernels as wide as their number would have them find no narrow valley: of
// all trials these kernels reckon with half.
constexpr double kShareOfClip = 0.5;

// The youngest of the rest, so that a suggestion costs the same after any number of trials. Older ones weigh little by then.
constexpr ptrdiff_t kMostOfRest = 1000;

// Parameters that are in use under the same condition; those that are taken in turn, or have one value, are in none.
std::vector<std::vector<size_t>> groups_of(const Space& space, bool multivariate) {
  std::vector<std::vector<size_t>> groups;
  std::map<std::pair<std::string, std::vector<double>>, size_t> by_condition;
  for (size_t i = 0; i < space.parameters().size(); ++i) {
    const Parameter& parameter = space.parameters()[i];
    if (parameter.exhaustive || parameter.cardinality() == 1 || (parameter.choices.empty() && parameter.low == parameter.high))
      continue;
    std::pair<std::string, std::vector<double>> condition;
    if (parameter.when) condition = {parameter.when->parameter, parameter.when->allowed};
    std::sort(condition.second.begin(), condition.second.end());
    const auto [group, is_new] = by_condition.try_emplace(condition, groups.size());
    if (!is_new && multivariate) {
      groups[group->second].push_back(i);
    } else {
      groups.push_back({i});
    }
  }
  return groups;
}

bool is_of_space(const Space& space, const Assignment& assignment) {
  return std::all_of(space.parameters().begin(), space.parameters().end(), [&](const Parameter& parameter) {
    const auto value = assignment.find(parameter.name);
    return !space.is_active(parameter, assignment) || (value != assignment.end() && parameter.contains(value->second));
  });
}

}  // namespace

// Each good trial weighs as much as it is better than the best of the rest (their mean 1); where that cannot be said, all are
// equal.
std::vector<double> TpeSearch::weights_by_gain(const Part& good, const Part& rest) const {
  std::vector<double> weights(good.known.size(), 1.0);
  const auto best = std::min_element(rest.known.begin(), rest.known.end(),
                                     [](const Known* a, const Known* b) { return is_better(a->outcome, b->outcome); });
  if (context_.directions.size() > 1 || best == rest.known.end() || (*best)->outcome.kind != Outcome::Kind::kComplete)
    return weights;
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) sum += weights[i] = (*best)->outcome.losses[0] - good.known[i]->outcome.losses[0];
  if (!(sum > 0) || !std::isfinite(sum)) return std::vector<double>(weights.size(), 1.0);
  // None of them is nothing: the last one may be as good as the first of the rest.
  constexpr double kLeast = 1e-6;
  for (double& weight : weights) weight = std::max(kLeast, weight * static_cast<double>(weights.size()) / sum);
  return weights;
}

// The two densities of each group, made when they are first asked for.
class TpeSearch::Densities {
 public:
  Densities(const TpeSearch& search, const Part& good, const Part& rest)
      : search_(search), good_(good), rest_(rest), groups_(search.groups_.size()) {}

  // The most promising of some points for the parameters of a group.
  std::vector<double> best_of_group(size_t group, Rng& rng) {
    std::optional<Pair>& pair = groups_[group];
    if (!pair) {
      const double clip_count = kShareOfClip * static_cast<double>(good_.known.size() + rest_.known.size());
      pair.emplace(Pair{estimator(group, good_, clip_count), estimator(group, rest_, 0)});
    }
    const auto count = static_cast<size_t>(search_.config_.candidates);
    std::vector<std::vector<double>> points(search_.groups_[group].size(), std::vector<double>(count));
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
    ParzenEstimator good, rest;
  };

  ParzenEstimator estimator(size_t group, const Part& trials, double clip_count) const {
    const std::vector<size_t>& members = search_.groups_[group];
    std::vector<Parameter> parameters;
    for (const size_t i : members) parameters.push_back(search_.context_.space.parameters()[i]);
    std::vector<std::vector<double>> observations(members.size());
    std::vector<double> weights;
    for (size_t t = 0; t < trials.known.size(); ++t) {
      const std::vector<double>& point = trials.known[t]->point;
      if (std::any_of(members.begin(), members.end(), [&](size_t i) { return point[i] == kUnused; })) continue;
      for (size_t i = 0; i < members.size(); ++i) observations[i].push_back(point[members[i]]);
      if (!trials.weights.empty()) weights.push_back(trials.weights[t]);
    }
    if (trials.weights.empty()) weights = weights_by_age(observations.front().size());
    return {parameters,
            observations,
            weights,
            {.prior_weight = search_.config_.prior_weight, .magic_clip = search_.config_.magic_clip, .clip_count = clip_count}};
  }

  const TpeSearch& search_;
  const Part &good_, &rest_;
  std::vector<std::optional<Pair>> groups_;
};

TpeSearch::TpeSearch(const TpeSearchConfig& config, const SearchContext& context)
    : config_(config), context_(context), groups_(groups_of(context.space, config.multivariate)) {}

std::optional<Assignment> TpeSearch::suggest(int64_t number) {
  std::vector<const Known*> ended, pending;
  std::vector<Outcome> outcomes;
  int64_t usable = 0;
  for (const auto& [known_number, known] : known_) {
    if (known_number == number) continue;
    const bool is_pending = known.outcome.kind == Outcome::Kind::kPending;
    if (is_pending && !config_.constant_liar) continue;
    ended.push_back(&known);
    outcomes.push_back(known.outcome);
    usable += is_pending || known.outcome.kind == Outcome::Kind::kFailed ? 0 : 1;
  }
  if (usable < config_.startup) return first_point(number);
  Part good, rest;
  const std::vector<size_t> good_indices = good_trials(outcomes, context_.directions.size());
  for (size_t i = 0, next = 0; i < ended.size(); ++i) {
    const bool is_good = next < good_indices.size() && good_indices[next] == i;
    (is_good ? good : rest).known.push_back(ended[i]);
    next += is_good ? 1 : 0;
  }
  good.weights = weights_by_gain(good, rest);
  if (static_cast<ptrdiff_t>(rest.known.size()) > kMostOfRest)
    rest.known.erase(rest.known.begin(), rest.known.end() - kMostOfRest);
  Densities densities(*this, good, rest);
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
  if (const auto before = known_.find(trial.number); before != known_.end()) {
    const auto numbers = tried_.find(before->second.point);
    numbers->second.erase(trial.number);
    if (numbers->second.empty()) tried_.erase(numbers);
    known_.erase(before);
  }
  if (!is_of_space(context_.space, trial.parameters)) return;
  const std::vector<double> point = row_of(trial.parameters);
  tried_[point].insert(trial.number);
  known_[trial.number] = {point, outcome_of(trial, context_.directions)};
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
      if (std::find(groups_[g].begin(), groups_[g].end(), i) == groups_[g].end()) continue;
      const std::vector<double> values = densities.best_of_group(g, rng);
      for (size_t m = 0; m < values.size(); ++m) drawn[groups_[g][m]] = values[m];
    }
    const auto value = drawn.find(i);
    return value != drawn.end() ? value->second : context_.space.parameters()[i].at_share(0.5);
  });
}

std::vector<double> TpeSearch::row_of(const Assignment& assignment) const {
  std::vector<double> row;
  for (const Parameter& parameter : context_.space.parameters()) {
    const auto value = assignment.find(parameter.name);
    row.push_back(value != assignment.end() && context_.space.is_active(parameter, assignment) ? value->second : kUnused);
  }
  return row;
}

bool TpeSearch::was_tried(const Assignment& assignment, int64_t number) const {
  const auto numbers = tried_.find(row_of(assignment));
  return numbers != tried_.end() && (numbers->second.size() > 1 || !numbers->second.contains(number));
}

}  // namespace tessera
