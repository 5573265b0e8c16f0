#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

// One start of a trial: a command of this program and what it needs.
struct Job {
  std::string name;  // unique among all jobs that were ever started in this study: "cells-12-3" is the third of trial 12
  std::vector<std::string> arguments;  // of this program: train, CONFIG, key=value, --stop-at, ...
  std::filesystem::path folder;        // of the study's, for this job's own files: output.txt, batch script, process id
  int ranks = 1;
  bool may_follow = false;     // another job in the same process, where the executor has such (ranks: 1)
  bool threads = false;        // ranks are threads of one process (-p dp), else processes
  std::vector<int> gpus = {};  // which ones of the machine it may use; empty: whatever the executor has
  int cores = 0;               // 0: whatever the executor has
};

// How a job stands.
struct JobStatus {
  enum class State {
    kUnknown,  // it was never started
    kWaiting,  // in a queue
    kRunning,
    kEnded,
    kLost  // it was started, and is gone without an exit code: the machine failed, or somebody killed all of it
  };
  State state = State::kUnknown;
  int exit_code = 0;        // once it has ended; 128 + a signal
  std::string reason = {};  // what the executor knows of a failure: NODE_FAIL, TIMEOUT, the end of its output
};

// Note [Jobs outlive their controller]
// A job is started in a way that its controller's end does not end it, and is found again by its name alone. A controller
// writes down that it will start a job, then starts it; whoever is killed in between finds out by poll() whether the job was
// started, so none is started twice and none is lost.

// Where the jobs of a study run: this machine, hosts over ssh, or a Slurm cluster. A failure of the place itself (ssh that
// cannot connect, sbatch that refuses) throws Error and has started nothing.
class Executor {
 public:
  virtual ~Executor() = default;

  // Does nothing where a job of this name was started before.
  virtual void start(const Job& job) = 0;
  virtual JobStatus poll(const Job& job) = 0;
  // Asks it to save and end (as SIGTERM does), and returns at once. Nothing happens where it does not run.
  virtual void stop(const Job& job) = 0;
  // How many jobs like this one may run at once; none: the executor's own queue decides.
  virtual std::optional<int> most_at_once(const Job& job) const = 0;
  // Whether this job would find a place now, beside those that run: jobs may be of different sizes, and places fail for a
  // while.
  virtual bool has_room(const Job& /*job*/) const { return true; }
};

}  // namespace tessera
