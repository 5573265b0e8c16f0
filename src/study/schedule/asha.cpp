#include "study/schedule/asha.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/name_hash.h"
#include "core/rng.h"

namespace tessera {
namespace {

// Products that ought to be whole numbers may be a little more or less.
constexpr double kRounding = 1e-9;

// The rung that a step is at or beyond; -1 before the first.
int rung_at(const std::vector<Rung>& rungs, int64_t step) {
  const auto after =
      std::upper_bound(rungs.begin(), rungs.end(), step, [](int64_t wanted, const Rung& rung) { return wanted < rung.step(); });
  return static_cast<int>(after - rungs.begin()) - 1;
}

}  // namespace

std::vector<int64_t> Asha::rung_steps(const AshaConfig& config, int64_t bracket) {
  std::vector<int64_t> steps;
  double step = static_cast<double>(config.grace) * std::pow(config.reduction, static_cast<double>(bracket));
  for (; step <= static_cast<double>(config.max) * (1 + kRounding); step *= config.reduction) {
    const auto whole = static_cast<int64_t>(std::ceil(step * (1 - kRounding)));
    if (steps.empty() || whole > steps.back()) steps.push_back(whole);
  }
  return steps;
}

Asha::Asha(const AshaConfig& config, const ScheduleContext& context) : config_(config), context_(context) {
  TSR_CHECK_USAGE(config.grace < config.max,
                  "scheduler asha: the first rung, grace {}, is not before max {}: no trial could be stopped early",
                  config.grace, config.max);
  for (int64_t bracket = 0; bracket < config.brackets; ++bracket) {
    Ladder ladder;
    for (const int64_t step : rung_steps(config, bracket)) ladder.rungs.emplace_back(step);
    TSR_CHECK_USAGE(!ladder.rungs.empty(),
                    "scheduler asha: with grace {}, reduction {} and max {} there are rungs for {} brackets; asked for {}",
                    config.grace, config.reduction, config.max, bracket, config.brackets);
    ladder.waiting.resize(ladder.rungs.size());
    ladders_.push_back(std::move(ladder));
  }
}

size_t Asha::bracket_of(int64_t number) const {
  std::vector<double> weights;
  double sum = 0;
  for (const Ladder& ladder : ladders_) {
    const double more = static_cast<double>(ladder.rungs.size()) - static_cast<double>(ladders_[0].rungs.size());
    weights.push_back(std::exp(more));
    sum += weights.back();
  }
  double left = sum * Rng(context_.seed, Stream::kStudy, name_hash("bracket of asha"), static_cast<uint64_t>(number)).uniform();
  for (size_t i = 0; i + 1 < weights.size(); ++i) {
    if (left < weights[i]) return i;
    left -= weights[i];
  }
  return weights.size() - 1;
}

int64_t Asha::next_step(const Ladder& ladder, size_t rung) const {
  const size_t next = rung + 1;
  return next < ladder.rungs.size() ? std::min(ladder.rungs[next].step(), config_.max) : config_.max;
}

int64_t Asha::quota(const Rung& rung) const {
  return static_cast<int64_t>(static_cast<double>(rung.size()) / config_.reduction * (1 + kRounding));
}

Asha::Place& Asha::place_of(int64_t number) {
  const auto index = static_cast<size_t>(number);
  if (index >= places_.size()) places_.resize(index + 1);
  return places_[index];
}

void Asha::record(const Trial& trial) {
  Place& place = place_of(trial.number);
  Ladder& ladder = ladders_[bracket_of(trial.number)];
  for (const Report& report : trial.reports) {
    const int rung = rung_at(ladder.rungs, report.step);
    if (rung < place.recorded) continue;
    place.score = score_of(report.value, context_.direction);
    place.recorded = rung + 1;
    ladder.rungs[static_cast<size_t>(rung)].record({place.score, trial.number});
  }
}

void Asha::set_waiting(int64_t number, bool waits) {
  Place& place = place_of(number);
  waits = waits && place.recorded > 0;
  if (waits == place.waits) return;
  place.waits = waits;
  std::set<Standing>& waiting = ladders_[bracket_of(number)].waiting[static_cast<size_t>(place.recorded) - 1];
  const Standing own{place.score, number};
  if (waits) {
    waiting.insert(own);
  } else {
    waiting.erase(own);
  }
}

void Asha::observe(const Trial& trial) {
  if (trial.number < 0) return;      // of an earlier study
  set_waiting(trial.number, false);  // where it stood
  record(trial);
  set_waiting(trial.number, trial.state == TrialState::kPaused);
}

Decision Asha::decide(const Trial& trial) {
  observe(trial);
  const Ladder& ladder = ladders_[bracket_of(trial.number)];
  if (trial.reports.empty()) return {.until = ladder.rungs[0].step()};
  const int64_t step = trial.reports.back().step;
  if (step >= config_.max) return {.kind = Decision::Kind::kFinish};
  const int at = rung_at(ladder.rungs, step);
  if (at < 0) return {.until = ladder.rungs[0].step()};
  const auto rung = static_cast<size_t>(at);
  const int64_t next = next_step(ladder, rung);
  const size_t count = trial.reports.size();
  const bool is_first_there = count < 2 || trial.reports[count - 2].step < ladder.rungs[rung].step();
  if (!is_first_there) return {.until = next};
  const Standing own{place_of(trial.number).score, trial.number};
  if (config_.rule == AshaRule::kPromote) {
    // Where it would be the next to go on anyway, it need not be stopped for that.
    set_waiting(trial.number, true);
    const std::optional<Promotion> best = promote();
    if (!best || best->trial != trial.number) return {.kind = Decision::Kind::kPause};
    set_waiting(trial.number, false);
    return {.until = next};
  }
  if (std::isinf(own.score)) return {.kind = Decision::Kind::kStop, .reason = fmt::format("no number at step {}", step)};
  if (ladder.rungs[rung].size() < 2) return {.until = next};
  const double cutoff = ladder.rungs[rung].quantile(1 - 1 / config_.reduction, own);
  if (own.score >= cutoff) return {.until = next};
  const double sign = context_.direction == Direction::kMaximize ? 1 : -1;
  return {.kind = Decision::Kind::kStop,
          .reason = fmt::format("{:.6g} at step {} is worse than {:.6g}, the limit of the best 1/{:.3g}",
                                trial.reports.back().value, step, sign * cutoff, config_.reduction)};
}

std::optional<Promotion> Asha::promote() {
  std::optional<Promotion> best;
  int64_t best_step = -1;
  for (const Ladder& ladder : ladders_) {
    for (size_t rung = 0; rung < ladder.rungs.size(); ++rung) {
      if (ladder.waiting[rung].empty() || ladder.rungs[rung].step() <= best_step) continue;
      const Standing& first = *ladder.waiting[rung].begin();
      if (config_.rule == AshaRule::kPromote && ladder.rungs[rung].rank(first) >= quota(ladder.rungs[rung])) continue;
      best = Promotion{.trial = first.trial, .until = next_step(ladder, rung)};
      best_step = ladder.rungs[rung].step();
    }
  }
  return best;
}

}  // namespace tessera
