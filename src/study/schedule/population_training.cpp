#include "study/schedule/population_training.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/name_hash.h"
#include "core/rng.h"
#include "core/suggest.h"
#include "study/schedule/copies.h"
#include "study/schedule/explore.h"

namespace tessera {

Quantiles quantiles(const std::vector<double>& scores, double quantile) {
  if (scores.size() < 2) return {};
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] < scores[b]; });
  const auto wanted = static_cast<size_t>(std::ceil(static_cast<double>(scores.size()) * quantile));
  const auto count = static_cast<std::ptrdiff_t>(std::min(wanted, scores.size() / 2));
  return {{order.begin(), order.begin() + count}, {order.end() - count, order.end()}};
}

PopulationTraining::PopulationTraining(const PopulationConfig& config, const ScheduleContext& context)
    : config_(config), context_(context) {
  TSR_CHECK_USAGE(config.interval > 0, "scheduler pbt: say how many steps there are between two judgements: 'interval: 5'");
  if (config_.population == 0) config_.population = context.num_trials;
  TSR_CHECK_USAGE(
      config_.population >= 2,
      "scheduler pbt: a population of {} cannot learn from itself; say 'population: 8', or give the study more trials",
      config_.population);
  TSR_CHECK_USAGE(config.max == 0 || config.interval < config.max,
                  "scheduler pbt: interval {} is not before max {}: nobody would ever be judged", config.interval, config.max);
  std::vector<std::string> names;
  for (const Parameter& parameter : context.space.parameters()) names.push_back(parameter.name);
  for (const std::string& name : config.mutate) {
    TSR_CHECK_USAGE(context.space.find(name) != nullptr, "scheduler pbt: mutate: the space has no parameter '{}'{}", name,
                    did_you_mean(name, names));
  }
}

int64_t PopulationTraining::size_of(int64_t index) const {
  if (context_.num_trials == 0) return config_.population;
  return std::clamp(context_.num_trials - index * config_.population, int64_t{1}, config_.population);
}

bool PopulationTraining::all_began(int64_t index) const {
  return static_cast<int64_t>(populations_.at(index).size()) >= size_of(index);
}

bool PopulationTraining::all_reached(int64_t index, size_t judgement) const {
  const Population& population = populations_.at(index);
  return all_began(index) && std::all_of(population.begin(), population.end(), [&](const auto& entry) {
           return entry.second.scores.size() >= judgement || is_finished(entry.second.state);
         });
}

int64_t PopulationTraining::step_after(size_t judgement) const {
  const int64_t next = (static_cast<int64_t>(judgement) + 1) * config_.interval;
  return config_.max > 0 ? std::min(next, config_.max) : next;
}

std::optional<PopulationTraining::Exploit> PopulationTraining::exploit(const Population& population, int64_t number,
                                                                       size_t judgement) const {
  std::vector<double> scores;
  std::vector<int64_t> numbers;
  for (const auto& [other, member] : population) {
    if (member.scores.size() < judgement) continue;
    scores.push_back(member.scores[judgement - 1]);
    numbers.push_back(other);
  }
  const Quantiles found = quantiles(scores, config_.quantile);
  const auto is_own = [&](size_t place) { return numbers[place] == number; };
  if (std::none_of(found.lowest.begin(), found.lowest.end(), is_own)) return std::nullopt;
  Rng rng = Rng(context_.seed, Stream::kStudy, name_hash("pbt"), static_cast<uint64_t>(number))
                .fork(static_cast<uint32_t>(judgement));
  const int64_t from = numbers[found.highest[rng.below(static_cast<uint32_t>(found.highest.size()))]];
  // What it had up to this judgement, not what it may have taken there itself.
  const std::map<int64_t, Assignment>& had = population.at(from).parameters;
  const auto later = had.lower_bound(static_cast<int64_t>(judgement));
  return Exploit{from, explore(context_.space, std::prev(later)->second, config_, rng)};
}

void PopulationTraining::observe(const Trial& trial) {
  if (trial.number < 0) return;  // of an earlier study
  const int64_t index = trial.number / config_.population;
  Population& population = populations_[index];
  Member& member = population[trial.number];
  member.state = trial.state;
  for (const Report& report : trial.reports) {
    const auto judgements = static_cast<size_t>(report.step / config_.interval);
    while (member.scores.size() < judgements) member.scores.push_back(score_of(report.value, context_.direction));
  }
  member.parameters = {{0, trial.parameters}};
  for (const Copy& copy : copies_of(trial)) member.parameters[copy.step / config_.interval] = copy.parameters;
  // Nobody asks for a population any more whose trials have all ended.
  const bool is_over = all_began(index) && std::all_of(population.begin(), population.end(),
                                                       [](const auto& entry) { return is_finished(entry.second.state); });
  if (is_over) populations_.erase(index);
}

Decision PopulationTraining::decide(const Trial& trial) {
  observe(trial);
  const int64_t index = trial.number / config_.population;
  const Population& population = populations_.at(index);
  if (trial.reports.empty()) return {.until = step_after(0)};
  const int64_t step = trial.reports.back().step;
  if (config_.max > 0 && step >= config_.max) return {.kind = Decision::Kind::kFinish};
  const size_t judgement = population.at(trial.number).scores.size(), count = trial.reports.size();
  const int64_t until = step_after(judgement);
  const bool is_first_there =
      judgement > 0 && (count < 2 || trial.reports[count - 2].step < static_cast<int64_t>(judgement) * config_.interval);
  if (!is_first_there) return {.until = until};
  if (config_.synch && !all_reached(index, judgement)) return {.kind = Decision::Kind::kPause};
  if (const std::optional<Exploit> found = exploit(population, trial.number, judgement))
    return {.kind = Decision::Kind::kCopy, .until = until, .from = found->from, .parameters = found->parameters};
  const bool somebody_waits = !all_began(index) || std::any_of(population.begin(), population.end(), [&](const auto& entry) {
    return entry.first != trial.number && entry.second.state == TrialState::kPaused;
  });
  return {.kind = somebody_waits && !config_.synch ? Decision::Kind::kPause : Decision::Kind::kGoOn, .until = until};
}

std::optional<Promotion> PopulationTraining::promote() {
  for (const auto& [index, population] : populations_) {
    if (!config_.synch && !all_began(index)) continue;  // new trials first, so that all advance alike
    const Population::value_type* best = nullptr;
    for (const auto& entry : population) {
      const Member& member = entry.second;
      if (member.state != TrialState::kPaused || (config_.synch && !all_reached(index, member.scores.size()))) continue;
      if (best == nullptr || member.scores.size() < best->second.scores.size()) best = &entry;
    }
    if (best == nullptr) continue;
    const auto& [number, member] = *best;
    const size_t judgement = member.scores.size();
    Promotion promotion{.trial = number, .until = step_after(judgement)};
    if (!config_.synch || judgement == 0 || member.parameters.rbegin()->first >= static_cast<int64_t>(judgement))
      return promotion;
    if (const std::optional<Exploit> found = exploit(population, number, judgement)) {
      promotion.from = found->from;
      promotion.parameters = found->parameters;
    }
    return promotion;
  }
  return std::nullopt;
}

}  // namespace tessera
