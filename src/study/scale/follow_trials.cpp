#include "study/scale/follow_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/printable.h"
#include "core/signals.h"
#include "study/run_folder.h"

namespace tessera {
namespace {

using State = JobStatus::State;

constexpr int kSignalled = 128;

// Whether another start may get further: its time was up, it was killed, or its machine failed. One that was cancelled was
// meant to end, and what failed by itself (or for lack of memory) would fail again.
bool may_go_on(const JobStatus& status) {
  if (status.state == State::kLost) return true;
  const bool cut_off = status.exit_code > kSignalled || status.exit_code == kExitAgain;
  return cut_off && status.reason != "CANCELLED" && status.reason != "OUT_OF_MEMORY";
}

std::string reason_of(const JobStatus& status) {
  const std::string code = status.state == State::kLost ? "it was lost" : fmt::format("exit code {}", status.exit_code);
  if (status.reason.empty()) return code;
  std::string text = code + ": ";
  for (const char c : status.reason) text += c == '\n' ? std::string("; ") : std::string(1, c);
  return text;
}

}  // namespace

fs::path ScaleFolders::job(const ScaleTrial& trial) const {
  return study / "jobs" / fmt::format("{}-{}", cell_name(trial.cell), trial.attempt);
}

TrialFollower::TrialFollower(ScaleFolders folders, FollowOptions options, ScaleState& state, Executor& executor)
    : folders_(std::move(folders)), options_(std::move(options)), state_(state), executor_(executor) {}

Job TrialFollower::job_of(const ScaleTrial& trial) const {
  return {.name = fmt::format("{}-{}-{}", options_.name, cell_name(trial.cell), trial.attempt),
          .arguments = trial.arguments,
          .folder = folders_.job(trial),
          .ranks = static_cast<int>(trial.cell.ranks),
          .threads = trial.cell.mode == ParallelMode::kDp};
}

void TrialFollower::start(ScaleTrial& trial) {
  ++trial.attempt;
  trial.state = TrialState::kRunning;
  state_.save();
  executor_.start(job_of(trial));
  log_info("{} is handed over (start {})", cell_name(trial.cell), trial.attempt);
}

void TrialFollower::ended(ScaleTrial& trial, const JobStatus& status) {
  const int64_t before = trial.step;
  trial.step = newest_step(folders_.run(trial.cell));
  if (status.state == State::kEnded && status.exit_code == 0) {
    trial.state = TrialState::kComplete;
    trial.reason.clear();
    log_info("{} is complete", cell_name(trial.cell));
    return state_.save();
  }
  trial.reason = reason_of(status);
  if (lacks_place(trial.reason)) {
    trial.state = TrialState::kWaiting;
    state_.save();
    if (!std::exchange(could_not_write_, true)) return;
    fail("{} cannot write: {}; nothing is lost. Make room, then start the same command again", cell_name(trial.cell),
         printable(trial.reason));
  }
  trial.fruitless = trial.step > before ? 0 : trial.fruitless + 1;
  if (may_go_on(status) && trial.fruitless <= options_.retries) {
    trial.state = TrialState::kWaiting;
    log_info("{} ended at step {} ({}); it goes on", cell_name(trial.cell), std::max<int64_t>(0, trial.step),
             printable(trial.reason));
  } else {
    trial.state = TrialState::kFailed;
    log_warn("{} failed: {}; its output: {}", cell_name(trial.cell), printable(trial.reason),
             printable(folders_.job(trial).string()));
  }
  state_.save();
}

void TrialFollower::look_at(ScaleTrial& trial) {
  const Job job = job_of(trial);
  const JobStatus status = executor_.poll(job);
  if (status.state == State::kUnknown) {  // its controller was killed before it could start it
    executor_.start(job);
  } else if (status.state == State::kEnded || status.state == State::kLost) {
    ended(trial, status);
  }
}

bool TrialFollower::step() {
  int64_t running = 0;
  for (ScaleTrial& trial : state_.trials()) {
    if (trial.state == TrialState::kRunning) look_at(trial);
    running += trial.state == TrialState::kRunning ? 1 : 0;
  }
  bool unfinished = running > 0;
  for (ScaleTrial& trial : state_.trials()) {
    if (trial.state != TrialState::kWaiting) continue;
    unfinished = true;
    const std::optional<int> most = executor_.most_at_once(job_of(trial));
    // A trial for which there is room waits for those before it.
    if ((options_.at_once > 0 && running >= options_.at_once) || (most && running >= std::max(1, *most))) break;
    if (running > 0 && !executor_.has_room(job_of(trial))) break;  // with none that runs, start() says why there is none
    try {
      start(trial);
    } catch (const UsageError&) {
      throw;
    } catch (const Error& e) {
      // A place has failed in the meantime, and the others are full: its turn comes again, under the same name.
      if (running == 0 || executor_.has_room(job_of(trial))) throw;
      log_warn("{}; it waits", e.what());
      trial.state = TrialState::kWaiting;
      --trial.attempt;
      state_.save();
      break;
    }
    ++running;
  }
  return unfinished;
}

void TrialFollower::run(const std::function<void()>& changed) {
  catch_stop_signals();
  const auto finished = [this] {
    return std::count_if(state_.trials().begin(), state_.trials().end(),
                         [](const ScaleTrial& trial) { return is_finished(trial.state); });
  };
  for (auto before = finished(); stop_signal() == 0 && step();) {
    if (finished() != before) changed();
    before = finished();
    const double until = monotonic_s() + options_.look_s;
    while (stop_signal() == 0 && monotonic_s() < until) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

void TrialFollower::stop() {
  for (ScaleTrial& trial : state_.trials()) {
    if (trial.state == TrialState::kRunning) executor_.stop(job_of(trial));
  }
}

}  // namespace tessera
