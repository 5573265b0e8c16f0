#include "study/controller/controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "study/controller/trial_values.h"
#include "study/schedule/copies.h"
#include "study/schedule/make_scheduler.h"
#include "study/schedule/schedule_context.h"
#include "study/search/enqueued_search.h"
#include "study/search/make_searcher.h"

namespace tessera {
namespace {

constexpr const char* kCurrency = "currency";

std::unique_ptr<Searcher> searcher_of(const StudyPlan& plan) {
  SearchContext context{.space = plan.space, .seed = plan.settings.seed};
  context.directions.clear();
  for (const Objective& objective : plan.objectives) context.directions.push_back(objective.direction);
  auto searcher = make_searcher(plan.search, context);
  if (!plan.points.empty())
    searcher = std::make_unique<EnqueuedSearch>(std::move(searcher), plan.space, plan.points, plan.settings.seed);
  return searcher;
}

}  // namespace

Controller::Controller(const StudyPlan& plan, StudyStore& store, Executor& executor, ControllerOptions options)
    : plan_(plan),
      store_(store),
      executor_(executor),
      options_(std::move(options)),
      searcher_(searcher_of(plan)),
      scheduler_(make_scheduler(plan.scheduler, {.direction = plan.objectives[0].direction,
                                                 .seed = plan.settings.seed,
                                                 .space = plan.space,
                                                 .max_steps = plan.max_steps,
                                                 .num_trials = plan.settings.budget.trials})),
      slots_(plan.settings.resources, options_.machine, options_.executor_limit),
      prices_(plan.prices, plan.settings.resources.ranks, plan.settings.budget.cost > 0),
      kept_(plan.folder / "kept"),
      keeps_(std::holds_alternative<PopulationConfig>(plan.scheduler)) {}

StudyEnd Controller::run() {
  begun_ = last_event_ = monotonic_s();
  recall();
  while (true) {
    const StudyWish wish = options_.wish();
    if (wish == StudyWish::kLeave) return finish(wish);
    bool happened = false;
    for (auto at = live_.begin(); at != live_.end();) {
      Live& live = (at++)->second;  // it may end, and go
      happened |= !live.run.idle && follow(live);
    }
    holding_ = stopping_ || wish != StudyWish::kNone;
    if (!stopping_ && (wish == StudyWish::kStopTrials || out_of_time())) stop_trials();
    if (!holding_) happened |= start_more();
    if (options_.show) options_.show(view());
    const bool none_runs = std::all_of(live_.begin(), live_.end(), [](const auto& entry) { return entry.second.run.idle; });
    if (none_runs && !happened) return finish(wish);
    if (happened) {
      last_event_ = monotonic_s();
    } else {
      std::this_thread::sleep_for(std::chrono::duration<double>(pause()));
    }
  }
}

void Controller::recall() {
  const nlohmann::json& attributes = store_.info().attributes;
  if (const auto found = attributes.find(kSeconds); found != attributes.end() && found->is_number()) seconds_before_ = *found;
  if (plan_.prices) {
    nlohmann::json with_currency = attributes;
    with_currency[kCurrency] = plan_.prices->currency;
    if (with_currency != attributes) store_.set_attributes(with_currency);
  }
  for (const Trial& trial : options_.earlier) searcher_->observe(trial);
  store_.each([&](Trial trial) {
    searcher_->observe(trial);
    scheduler_->observe(trial);
    remember(trial);
    spent_ += trial_run_of(trial.attributes).cost;
    slots_.note_memory(trial.attributes.value(kMemory, 0.0));
    next_ = trial.number + 1;
    if (trial.state == TrialState::kPaused) {
      put_aside(trial);
    } else if (!is_finished(trial.state)) {
      Live live = make_live(std::move(trial));
      if (!live.run.idle) slots_.keep(live.trial.number, {live.run.gpus, live.run.cores}, live.run.alone);
      live_.emplace(live.trial.number, std::move(live));
    }
  });
  if (next_ > 0)
    log_info("the study {} goes on: {} trials, {} of them running, {} paused", plan_.settings.name, next_, live_.size(),
             paused_.size());
}

// Counts a trial that is new here: one that has ended, or any when a controller begins.
void Controller::remember(const Trial& trial) {
  if (!is_finished(trial.state)) return;
  counts_.complete += trial.state == TrialState::kComplete;
  counts_.stopped += trial.state == TrialState::kStopped;
  counts_.failed += trial.state == TrialState::kFailed;
  ended_.insert(std::upper_bound(ended_.begin(), ended_.end(), trial.number), trial.number);
  if (trial.values.empty()) return;
  const Direction direction = plan_.objectives[0].direction;
  const double score = score_of(trial.values[0], direction);
  const double best = score_of(counts_.best_value, direction);
  if (std::isinf(score) || (counts_.best >= 0 && (score < best || (score == best && trial.number > counts_.best)))) return;
  counts_.best = trial.number;
  counts_.best_value = trial.values[0];
  best_parameters_ = plan_.space.text(current_parameters(trial));
}

void Controller::put_aside(const Trial& trial) {
  paused_.emplace(trial.number, trial.reports.empty() ? 0 : trial.reports.back().step);
}

Trial Controller::take_up(int64_t number) {
  TSR_CHECK(paused_.erase(number) == 1, "the scheduler lets trial {} go on, which is not paused", number);
  return store_.load(number);
}

Controller::Live Controller::make_live(Trial trial) const {
  TrialRun run = trial_run_of(trial.attributes);
  LogFollower log(plan_.folder / run.folder / "log.jsonl", metric_names(plan_.objectives));
  return {.trial = std::move(trial), .run = std::move(run), .log = std::move(log)};
}

bool Controller::start_more() {
  bool started = false;
  while (true) {
    const auto idle = std::find_if(live_.begin(), live_.end(), [](const auto& entry) { return entry.second.run.idle; });
    const bool ends = !used_up().empty();
    if (idle != live_.end() && !out_of_time()) {
      Live& live = idle->second;
      const std::optional<TrialPlace> place = slots_.take(live.trial.number, live.run.alone);
      if (!place) return started;  // nobody overtakes it
      live.run.gpus = place->gpus;
      live.run.cores = place->cores;
      next_job(live, live.run.until);
    } else if (const std::optional<Promotion> promotion = ends ? std::nullopt : scheduler_->promote()) {
      const std::optional<TrialPlace> place = slots_.take(promotion->trial, false);
      if (!place) return started;
      promote(*promotion, *place);
    } else if (ends || !begin_new()) {
      return started;
    }
    started = true;
  }
}

bool Controller::begin_new() {
  const int64_t budget = plan_.settings.budget.trials;
  if (exhausted_ || (budget > 0 && next_ >= budget)) return false;
  const std::optional<TrialPlace> place = slots_.take(next_, false);
  if (!place) return false;
  std::optional<Assignment> parameters = searcher_->suggest(next_);
  if (!parameters) {
    exhausted_ = true;
    slots_.release(next_);
    return false;
  }
  Trial trial{.number = next_, .state = TrialState::kRunning, .parameters = std::move(*parameters)};
  const Decision decision = scheduler_->decide(trial);
  TrialRun run{.folder = fmt::format("trials/{}", next_),
               .job = 1,
               .until = decision.until,
               .gpus = place->gpus,
               .cores = place->cores,
               .started = unix_s()};
  trial.attributes = {{"folder", run.folder}, {"run", to_json_value(run)}};
  const int64_t number = store_.add(trial);
  TSR_CHECK(number == next_, "somebody else has added trials to the study {} while it ran: expected trial {}, got {}",
            plan_.settings.name, next_, number);
  ++next_;
  searcher_->observe(trial);
  scheduler_->observe(trial);
  if (options_.chatty) log_info("trial {} begins: {}", number, plan_.space.text(trial.parameters));
  Live& live = live_.emplace(number, make_live(std::move(trial))).first->second;
  start(live);
  return true;
}

void Controller::promote(const Promotion& promotion, const TrialPlace& place) {
  Live& live = live_.emplace(promotion.trial, make_live(take_up(promotion.trial))).first->second;
  live.trial.state = TrialState::kRunning;
  live.run.gpus = place.gpus;
  live.run.cores = place.cores;
  if (options_.chatty) log_info("trial {} goes on", promotion.trial);
  if (promotion.from >= 0) {
    copy(live, promotion.from, promotion.parameters, promotion.until);
  } else {
    next_job(live, promotion.until);
  }
  scheduler_->observe(live.trial);
}

void Controller::next_job(Live& live, int64_t until) {
  live.run.until = until;
  if (holding_) return wait(live);
  ++live.run.job;
  live.run.started = unix_s();
  live.run.ending.clear();
  live.run.idle = false;
  save(live);
  start(live);
}

// Without a job, until there is room for the next one.
void Controller::wait(Live& live) {
  live.run.idle = true;
  live.run.ending.clear();
  slots_.release(live.trial.number);
  save(live);
}

// Written down already. Where it cannot be started now, follow() finds that it was not and tries again.
void Controller::start(Live& live) {
  try {
    executor_.start(job_of(live));
    start_failed_ = 0;
  } catch (const Error& e) {
    const bool others = live_.size() > 1;
    if (!others) throw;
    log_warn("trial {} cannot be started now, and will be tried again: {}", live.trial.number, e.what());
    start_failed_ = monotonic_s();
  }
}

Job Controller::job_of(const Live& live) const {
  const int64_t number = live.trial.number;
  const fs::path run = plan_.folder / live.run.folder;
  std::vector<std::string> arguments = {"train", (plan_.folder / kStudyConfig).string()};
  for (const std::string& text : plan_.space.overrides(current_parameters(live.trial))) arguments.push_back(text);
  arguments.push_back("run.dir=" + run.string());
  arguments.push_back(fmt::format("run.name={}-{}", plan_.settings.name, number));
  arguments.emplace_back("--resume");
  std::error_code error;
  if (!live.run.from.empty() && fs::exists(plan_.folder / live.run.from, error))
    arguments.insert(arguments.end(), {"--from", (plan_.folder / live.run.from).string()});
  if (live.run.until != kToTheEnd)
    arguments.insert(arguments.end(), {"--stop-at", fmt::format("{}{}", live.run.until,
                                                                plan_.settings.unit == StepUnit::kEpochs ? "ep" : "ba")});
  return {.name = fmt::format("{}-{}-{}", plan_.settings.name, number, live.run.job),
          .arguments = std::move(arguments),
          .folder = plan_.folder / "jobs" / fmt::format("{}-{}", number, live.run.job),
          .ranks = static_cast<int>(plan_.settings.resources.ranks),
          .may_follow = plan_.settings.resources.ranks == 1,
          .gpus = live.run.gpus,
          .cores = live.run.cores};
}

// A place that waits for the next look is lost: short trials are looked at more often.
double Controller::pause() const {
  constexpr double kShare = 0.02, kLeast_s = 0.005;
  return std::min(options_.pause_s, std::max(kLeast_s, kShare * (monotonic_s() - last_event_)));
}

}  // namespace tessera
