#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/printable.h"
#include "study/controller/controller.h"
#include "study/controller/trial_values.h"
#include "study/run_folder.h"
#include "study/schedule/copies.h"

// What becomes of a trial that runs.
namespace tessera {
namespace {

constexpr int kTimeLimit = 75, kInterrupted = 130, kTerminated = 143;  // exit codes of runs that have saved
constexpr double kStartAgain_s = 10;                                   // before a job that could not be started is tried again

// As far as it is known, what a job's time was: the last line of the log is nearer to its end than the moment we see it.
double job_seconds(const TrialRun& run, const LogFollower& log) {
  const double until = log.last_time() > run.started ? log.last_time() : unix_s();
  return std::max(0.0, until - run.started);
}

}  // namespace

void Controller::save(Live& live) {
  live.trial.attributes["folder"] = live.run.folder;
  live.trial.attributes["run"] = to_json_value(live.run);
  live.trial.attributes["seconds"] = live.run.seconds;
  if (plan_.prices) live.trial.attributes["cost"] = live.run.cost;
  if (live.log.memory_mb() > 0) live.trial.attributes[kMemory] = live.log.memory_mb();
  store_.update(live.trial);
}

// True where something happened.
bool Controller::follow(Live& live) {
  const Job job = job_of(live);
  const JobStatus status = executor_.poll(job);
  switch (status.state) {
    case JobStatus::State::kUnknown:
      if (stopping_) {
        wait(live);
        return true;
      }
      if (start_failed_ > 0 && monotonic_s() < start_failed_ + kStartAgain_s) return false;
      start(live);
      return start_failed_ == 0;
    case JobStatus::State::kWaiting: live.queued = true; return false;
    case JobStatus::State::kRunning: {
      if (live.queued) live.run.started = unix_s();
      live.queued = false;
      return watch(live);
    }
    case JobStatus::State::kEnded:
    case JobStatus::State::kLost: break;
  }
  live.queued = false;
  on_end(live, status);
  return true;
}

// Tells the scheduler of new reports that lie before a step, until it wants something else than to go on.
std::optional<Decision> Controller::judge(Live& live, int64_t below) {
  std::optional<Decision> decision;
  for (const Report& report : new_reports(live.trial, live.log, plan_.objectives[0], plan_.settings.unit)) {
    if (report.step >= below) break;
    live.trial.reports.push_back(report);
    decision = scheduler_->decide(live.trial);
    if (options_.chatty)
      log_info("trial {} at {} {}: {} {:.6g}", live.trial.number, report.step,
               plan_.settings.unit == StepUnit::kEpochs ? "ep" : "ba", plan_.objectives[0].metric, report.value);
    if (decision->kind != Decision::Kind::kGoOn) break;
  }
  return decision;
}

// While its job runs. What is reported at the job's own end is judged when that has ended.
bool Controller::watch(Live& live) {
  live.log.read();
  if (live.log.memory_mb() > 0) slots_.note_memory(live.log.memory_mb());
  if (!live.price && live.log.total_steps() > 0) live.price = prices_.per_second(plan_.folder / live.run.folder);
  if (!live.run.ending.empty()) return false;
  const std::optional<Decision> decision = judge(live, live.run.until);
  if (!decision) return false;
  switch (decision->kind) {
    case Decision::Kind::kStop: live.run.ending = "stop"; break;
    case Decision::Kind::kPause: live.run.ending = "pause"; break;
    case Decision::Kind::kFinish: live.run.ending = "finish"; break;
    case Decision::Kind::kGoOn:
    case Decision::Kind::kCopy: break;
  }
  live.run.reason = decision->reason;
  save(live);
  if (!live.run.ending.empty()) executor_.stop(job_of(live));
  return true;
}

void Controller::on_end(Live& live, const JobStatus& status) {
  live.log.read();
  if (live.log.memory_mb() > 0) slots_.note_memory(live.log.memory_mb());
  live.price = prices_.per_second(plan_.folder / live.run.folder);
  const double seconds = job_seconds(live.run, live.log), cost = seconds * live.price.value_or(prices_.usual_per_second());
  live.run.seconds += seconds;
  live.run.cost += cost;
  spent_ += cost;
  const bool ended = status.state == JobStatus::State::kEnded, good = ended && status.exit_code == 0,
             stopped = ended &&
                       (status.exit_code == kTimeLimit || status.exit_code == kInterrupted || status.exit_code == kTerminated);
  if (!good && !stopped) return on_failure(live, status);
  if (live.run.ending == "stop") return end(live, TrialState::kStopped, live.run.reason);
  if (live.run.ending == "pause") return pause(live);
  if (live.run.ending == "finish") return complete(live);
  if (stopped && stopping_) return wait(live);
  if (stopped) return on_stop(live, status);
  const std::optional<Decision> decision = judge(live, kToTheEnd);
  if (live.log.status() != "paused") return complete(live);
  if (keeps_ && !live.trial.reports.empty())
    kept_.keep(live.trial.number, live.trial.reports.back().step, plan_.folder / live.run.folder);
  // Without a new report it stands where it stood: only the end of its training can follow.
  proceed(live, decision.value_or(Decision{}));
}

// By somebody else, or because its time was up: it goes on from where it saved, as long as it saves.
void Controller::on_stop(Live& live, const JobStatus& status) {
  if (status.reason == "CANCELLED") return end(live, TrialState::kFailed, "its job was cancelled");
  const bool got_further = gets_further(live);
  live.run.failures = got_further ? 0 : live.run.failures + 1;
  if (live.run.failures <= plan_.settings.retries) return wait(live);
  end(live, TrialState::kFailed,
      fmt::format("it was stopped {} times in a row without a new checkpoint: {}", live.run.failures,
                  status.reason.empty() ? fmt::format("exit code {}", status.exit_code) : printable(status.reason)));
}

// Whether there is a newer checkpoint than when a job of the trial last ended early.
bool Controller::gets_further(Live& live) const {
  const int64_t before = live.run.progress;
  live.run.progress = newest_step(plan_.folder / live.run.folder);
  return live.run.progress > before;
}

void Controller::on_failure(Live& live, const JobStatus& status) {
  const Failure failure = failure_of(status, live.log);
  const bool was_told_to_end = !live.run.ending.empty();
  if (was_told_to_end && live.run.ending == "stop") return end(live, TrialState::kStopped, live.run.reason);
  if (failure.kind == Failure::Kind::kPlace) {
    wait(live);
    if (!std::exchange(could_not_write_, true)) return;  // there may be room by now
    fail("trial {} cannot write: {}; nothing is lost. Make room, then start the study again", live.trial.number,
         failure.reason);
  }
  const bool shared = failure.kind == Failure::Kind::kMemory && !live.run.alone && slots_.shares(live.trial.number);
  const bool can_help = failure.kind == Failure::Kind::kKilled || shared;
  live.run.failures = gets_further(live) ? 1 : live.run.failures + 1;
  if (!can_help || live.run.failures > plan_.settings.retries) return end(live, TrialState::kFailed, failure.reason);
  live.run.alone = live.run.alone || shared;
  log_warn("trial {} goes on{}: {}", live.trial.number, shared ? " alone on its device" : "", failure.reason);
  wait(live);
}

// After a job that went as far as it was to.
void Controller::proceed(Live& live, const Decision& decision) {
  switch (decision.kind) {
    case Decision::Kind::kGoOn: return next_job(live, decision.until);
    case Decision::Kind::kPause: return pause(live);
    case Decision::Kind::kStop: return end(live, TrialState::kStopped, decision.reason);
    case Decision::Kind::kFinish: return complete(live);
    case Decision::Kind::kCopy: return copy(live, decision.from, decision.parameters, decision.until);
  }
}

// The run goes on in a folder of its own from the other one's checkpoint.
void Controller::copy(Live& live, int64_t from, const Assignment& parameters, int64_t until) {
  const int64_t step = live.trial.reports.back().step;
  const std::optional<fs::path> checkpoint = kept_.find(from, step);
  if (!checkpoint) {
    log_warn("trial {} would take the weights of trial {} at step {}, but its checkpoint is gone; it goes on with its own",
             live.trial.number, from, step);
    return next_job(live, until);
  }
  add_copy(live.trial, {step, from, parameters});
  live.run.folder = fmt::format("trials/{}-{}", live.trial.number, copies_of(live.trial).size());
  live.run.from = fs::relative(*checkpoint, plan_.folder).string();
  live.log = LogFollower(plan_.folder / live.run.folder / "log.jsonl", metric_names(plan_.objectives));
  if (options_.chatty)
    log_info("trial {} takes the weights of trial {}: {}", live.trial.number, from, plan_.space.text(parameters));
  next_job(live, until);
  int64_t earliest = step;
  for (const auto& [number, other] : live_)
    earliest = std::min(earliest, other.trial.reports.empty() ? 0 : other.trial.reports.back().step);
  for (const auto& [number, last] : paused_) earliest = std::min(earliest, last);
  kept_.forget_before(earliest);
}

void Controller::complete(Live& live) {
  live.trial.values = trial_values(live.trial, live.log, plan_.objectives, plan_.settings.value);
  const bool has_values = !live.trial.values.empty() && std::none_of(live.trial.values.begin(), live.trial.values.end(),
                                                                     [](double v) { return std::isnan(v); });
  if (has_values) return end(live, TrialState::kComplete, "");
  live.trial.values.clear();
  end(live, TrialState::kFailed, "its evaluations gave no number");
}

void Controller::pause(Live& live) {
  live.trial.state = TrialState::kPaused;
  live.run.ending.clear();
  save(live);
  slots_.release(live.trial.number);
  searcher_->observe(live.trial);
  scheduler_->observe(live.trial);
  put_aside(live.trial);
  live_.erase(live.trial.number);
}

void Controller::end(Live& live, TrialState state, const std::string& reason) {
  Trial& trial = live.trial;
  trial.state = state;
  trial.reason = reason;
  save(live);
  slots_.release(trial.number);
  searcher_->observe(trial);
  scheduler_->observe(trial);
  const int64_t best_before = counts_.best;
  remember(trial);
  const char* how = state == TrialState::kComplete ? "complete" : state == TrialState::kStopped ? "stopped" : "failed";
  const std::string value = trial.values.empty() ? ""
                                                 : fmt::format(": {} {:.6g}{}", plan_.objectives[0].metric, trial.values[0],
                                                               counts_.best != best_before ? ", the best so far" : "");
  const std::string text = fmt::format("trial {} {}{}{}", trial.number, how, reason.empty() ? "" : ": " + reason, value);
  if (state == TrialState::kFailed) {
    log_warn("{}", text);
  } else if (options_.chatty) {
    log_info("{}", text);
  }
  live_.erase(trial.number);
}

}  // namespace tessera
