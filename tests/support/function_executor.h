#pragma once
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "core/clock.h"
#include "core/files.h"
#include "study/executor/executor.h"
#include "study/run_folder.h"

namespace tessera {

// Trials without trainings: a job writes the log that a run would, with values of a function, and has ended by the time it was
// started. It outlives controllers, as jobs do.
class FunctionExecutor final : public Executor {
 public:
  using Values = std::map<std::string, double>;  // what follows "key=" in the job's words, as far as it is a number
  // The value at an epoch. What it throws is the job's failure.
  using Function = std::function<double(const Values& values, int64_t epoch)>;

  FunctionExecutor(Function function, int64_t epochs) : function_(std::move(function)), epochs_(epochs) {}

  void start(const Job& job) override {
    if (!statuses_.emplace(job.name, JobStatus{.state = JobStatus::State::kRunning}).second) return;
    ++started;
    if (holds) return;
    statuses_[job.name] = outcome(job);
  }
  JobStatus poll(const Job& job) override {
    const auto found = statuses_.find(job.name);
    const JobStatus status = found == statuses_.end() ? JobStatus{} : found->second;
    if (!remembers && status.state == JobStatus::State::kEnded) statuses_.erase(found);
    return status;
  }
  void stop(const Job& job) override {
    const auto found = statuses_.find(job.name);
    if (found != statuses_.end() && found->second.state == JobStatus::State::kRunning)
      found->second = {.state = JobStatus::State::kEnded, .exit_code = 143};
  }
  std::optional<int> most_at_once(const Job& /*job*/) const override { return 1; }

  // Lets a job that was held come to its end.
  void finish(const Job& job) { statuses_[job.name] = outcome(job); }
  void lose(const std::string& name) { statuses_[name] = {.state = JobStatus::State::kLost}; }
  const std::map<std::string, JobStatus>& statuses() const { return statuses_; }

  bool holds = false;     // jobs stay running
  bool remembers = true;  // the words of all jobs, and how they ended; else nobody asks twice
  int64_t started = 0;
  std::map<std::string, int> exit_codes;                  // of jobs by name, instead of what they would do
  std::string reason = "told to fail";                    // of those
  double memory_mb = 0;                                   // that runs say they need
  std::string device;                                     // that runs say they run on; empty: they say nothing
  std::map<std::string, std::vector<std::string>> words;  // of all jobs

 private:
  JobStatus outcome(const Job& job) {
    if (remembers) words[job.name] = job.arguments;
    Values values;
    std::string folder, from;
    int64_t until = epochs_;
    for (size_t i = 0; i < job.arguments.size(); ++i) {
      const std::string& word = job.arguments[i];
      const size_t equals = word.find('=');
      if (word == "--from") from = job.arguments.at(i + 1);
      if (word == "--stop-at") until = std::min<int64_t>(until, std::stoll(job.arguments.at(i + 1)));
      if (equals == std::string::npos) continue;
      if (word.starts_with("run.dir=")) folder = word.substr(equals + 1);
      char* end = nullptr;
      const double value = std::strtod(word.c_str() + equals + 1, &end);
      if (end != word.c_str() + word.size()) continue;
      values[word.substr(0, equals)] = value;
    }
    if (const auto code = exit_codes.find(job.name); code != exit_codes.end())
      return {.state = JobStatus::State::kEnded, .exit_code = code->second, .reason = reason};
    // Where the other one's checkpoint, .../step-00000012, was taken.
    const int64_t begun = from.empty() ? 0 : step_of(from);
    make_folders(folder);
    int64_t done = std::max(begun, newest_step(folder));
    if (!device.empty()) write_file(fs::path(folder) / "environment.json", nlohmann::json{{"device", device}}.dump());
    std::ofstream log(fs::path(folder) / "log.jsonl", std::ios::app);
    const auto line = [&](nlohmann::json fields) {
      fields["time"] = unix_s();
      log << fields.dump() << "\n";
    };
    line({{"type", done == 0 ? "start" : "resume"}, {"step", done}, {"total_steps", epochs_}, {"parameters", 1000}});
    if (memory_mb > 0) line({{"type", "train"}, {"step", done}, {"memory_mb", memory_mb}});
    while (done < until) {
      ++done;
      const double value = function_(values, done);
      line({{"type", "eval"},
            {"step", done},
            {"epoch", done},
            {"metrics", {{"mean_iou", std::isfinite(value) ? nlohmann::json(value) : nlohmann::json()}}}});
    }
    const fs::path checkpoint = fs::path(folder) / "checkpoints" / fmt::format("step-{:08}", done);
    make_folders(checkpoint);
    std::ofstream(checkpoint / "DONE") << folder;
    line({{"type", "end"},
          {"step", done},
          {"status", done < epochs_ ? "paused" : "done"},
          {"seconds", 0.25 * static_cast<double>(done)}});
    return {.state = JobStatus::State::kEnded};
  }

  static int64_t step_of(const std::string& checkpoint) { return std::stoll(checkpoint.substr(checkpoint.rfind('-') + 1)); }

  Function function_;
  int64_t epochs_;
  std::map<std::string, JobStatus> statuses_;
};

}  // namespace tessera
