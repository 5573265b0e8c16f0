#include "study/search/cma_search.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/name_hash.h"

namespace tessera {
namespace {

constexpr size_t kEnoughToStartWith = 10;

void check_number(const Parameter& parameter) {
  TSR_CHECK_USAGE(parameter.kind != Parameter::Kind::kChoice,
                  "cma search: {} is a choice, and CMA-ES varies numbers only; use search: tpe", parameter.name);
  TSR_CHECK_USAGE(!parameter.when, "cma search: {} is not always in use, and CMA-ES varies all at once; use search: tpe",
                  parameter.name);
}

}  // namespace

CmaSearch::CmaSearch(const CmaSearchConfig& config, const SearchContext& context) : config_(config), context_(context) {
  TSR_CHECK_USAGE(context.directions.size() == 1, "cma search: the study has {} objectives; expected one; use search: tpe",
                  context.directions.size());
  TSR_CHECK_USAGE(config.population == 0 || config.population >= 4,
                  "cma search: a population of {} is too small; expected at least 4, or 0 for the usual one",
                  config.population);
  for (const Parameter& parameter : context.space.parameters()) {
    check_number(parameter);
    if (parameter.low < parameter.high && parameter.cardinality() != 1) varied_.push_back(parameter);
  }
  TSR_CHECK_USAGE(!varied_.empty(), "cma search: every parameter has one value; expected a range");
}

std::optional<Assignment> CmaSearch::suggest(int64_t number) {
  learn_what_ended();
  auto generation = generations_.rbegin();
  while (generation->first > number && std::next(generation) != generations_.rend()) ++generation;
  const std::vector<double> drawn = generation->distribution.sample(rng_of(number));
  Assignment point;
  for (const Parameter& parameter : context_.space.parameters()) point[parameter.name] = parameter.at_share(0.5);
  for (size_t i = 0; i < varied_.size(); ++i) point[varied_[i].name] = varied_[i].at_share(drawn[i]);
  return point;
}

void CmaSearch::observe(const Trial& trial) {
  if (!generations_.empty() && generations_.front().first > std::max<int64_t>(0, trial.number))
    return;  // it was learned from for good
  Known known{{}, outcome_of(trial, context_.directions), is_finished(trial.state)};
  for (const Parameter& parameter : varied_) {
    const auto value = trial.parameters.find(parameter.name);
    if (value == trial.parameters.end() || !parameter.contains(value->second)) {
      known.point.clear();
      break;
    }
    known.point.push_back(parameter.share_of(value->second));
  }
  const auto [entry, is_new] = known_.try_emplace(trial.number, known);
  const bool changed = is_new || entry->second.point != known.point || entry->second.outcome != known.outcome;
  entry->second = std::move(known);
  if (!changed) return;
  // Whatever was learned with this trial is learned anew.
  std::erase_if(generations_, [&](const Generation& generation) { return generation.first > trial.number; });
}

Rng CmaSearch::rng_of(int64_t number) const {
  return {context_.seed, Stream::kStudy, name_hash("search.cma"), static_cast<uint64_t>(number)};
}

CmaDistribution CmaSearch::first_distribution() const {
  const size_t population =
      config_.population > 0 ? static_cast<size_t>(config_.population) : CmaDistribution::usual_population(varied_.size());
  std::vector<const Known*> earlier;
  for (auto known = known_.begin(); known != known_.end() && known->first < 0; ++known) {
    if (known->second.outcome.kind == Outcome::Kind::kComplete && !known->second.point.empty())
      earlier.push_back(&known->second);
  }
  if (earlier.size() < kEnoughToStartWith) return {std::vector<double>(varied_.size(), 0.5), config_.sigma, population};
  std::stable_sort(earlier.begin(), earlier.end(),
                   [](const Known* a, const Known* b) { return is_better(a->outcome, b->outcome); });
  std::vector<std::vector<double>> ranked;
  for (const Known* known : earlier) ranked.push_back(known->point);
  return warm_start(ranked, population);
}

void CmaSearch::learn_what_ended() {
  if (generations_.empty()) generations_.push_back({0, first_distribution()});
  while (true) {
    const Generation& last = generations_.back();
    const auto end = last.first + static_cast<int64_t>(last.distribution.population());
    std::vector<std::pair<int64_t, const Known*>> trials;
    for (auto known = known_.lower_bound(last.first); known != known_.end() && known->first < end; ++known) {
      if (known->second.outcome.kind != Outcome::Kind::kPending && !known->second.point.empty())
        trials.emplace_back(known->first, &known->second);
    }
    if (trials.size() < last.distribution.population()) return forget_what_is_learned();
    std::stable_sort(trials.begin(), trials.end(),
                     [](const auto& a, const auto& b) { return is_better(a.second->outcome, b.second->outcome); });
    std::vector<std::vector<double>> ranked;
    for (const auto& [number, known] : trials) {
      const std::vector<double> own = last.distribution.sample(rng_of(number));
      bool is_own = true;
      for (size_t i = 0; i < own.size(); ++i)
        is_own = is_own && known->point[i] == varied_[i].share_of(varied_[i].at_share(own[i]));
      ranked.push_back(is_own ? known->point : last.distribution.brought_near(known->point));
    }
    Generation next{end, last.distribution};
    next.distribution.learn(ranked);
    if (next.distribution.has_converged()) {
      Rng rng = rng_of(end).fork(1);
      std::vector<double> place(varied_.size());
      for (double& x : place) x = rng.uniform();
      next.distribution = {place, config_.sigma, 2 * last.distribution.population()};
    }
    generations_.push_back(std::move(next));
  }
}

void CmaSearch::forget_what_is_learned() {
  while (generations_.size() > 1) {
    const auto end = known_.lower_bound(generations_[1].first);
    const bool is_final = std::all_of(known_.begin(), end, [](const auto& entry) { return entry.second.is_final; });
    if (!is_final) return;
    known_.erase(known_.begin(), end);
    generations_.pop_front();
  }
}

CmaDistribution warm_start(const std::vector<std::vector<double>>& ranked, size_t population) {
  constexpr double kAround = 0.1;
  const size_t n = ranked.front().size(), best = std::max<size_t>(1, ranked.size() / 10);
  std::vector<double> mean(n);
  SquareMatrix spread(n);
  for (size_t k = 0; k < best; ++k) {
    for (size_t i = 0; i < n; ++i) mean[i] += ranked[k][i] / static_cast<double>(best);
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      for (size_t k = 0; k < best; ++k)
        spread(i, j) += (ranked[k][i] - mean[i]) * (ranked[k][j] - mean[j]) / static_cast<double>(best);
    }
    spread(i, i) += kAround * kAround;
  }
  double log_volume = 0;
  for (const double variance : symmetric_eigen(spread).values) log_volume += std::log(variance);
  const double scale = std::exp(log_volume / static_cast<double>(n));  // so that the covariance has determinant 1
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) spread(i, j) /= scale;
  }
  return {mean, std::sqrt(scale), spread, population};
}

}  // namespace tessera
