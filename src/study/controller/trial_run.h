#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "study/schedule/scheduler.h"

namespace tessera {

// Note [A trial's jobs]
// A trial is trained by jobs, one after another in the same run folder: each begins where the one before it stopped and goes up
// to the step that the scheduler has decided on (`tessera train --resume --stop-at`). What is written here stands in the
// trial's attributes before a job is started, in the same transaction as the reports and the decision that led to it. So a
// controller that was killed at any moment leaves either the decision and everything that follows from it, or nothing, and the
// next one makes it anew from the run's log. A job's name follows from its number; whether it was started is the executor's to
// say.
struct TrialRun {
  std::string folder = {};    // of the run, below the study's
  int64_t job = 0;            // number of the newest one; 0: there was none
  int64_t until = kToTheEnd;  // where it stops
  std::string from = {};      // a checkpoint of another trial that the run began with, below the study's folder
  std::vector<int> gpus = {};
  int cores = 0;
  bool idle = false;        // its newest job has ended, and it waits for room for the next one
  bool alone = false;       // it shares its device with nobody
  double started = 0;       // the newest job, in unix seconds
  double seconds = 0;       // of the jobs that have ended
  double cost = 0;          // of those, where there are prices
  int64_t failures = 0;     // jobs that it went on after
  int64_t progress = -1;    // the newest checkpoint when the last of them ended
  std::string ending = {};  // what it was told to end for: stop, pause, finish; empty: it goes on
  std::string reason = {};  // of a stop
};

// The attribute of a trial with the most memory that it was seen to need.
inline constexpr const char* kMemory = "memory_mb";

// The attribute `run`. Attributes without one are those of a trial that never ran.
nlohmann::json to_json_value(const TrialRun& run);
TrialRun trial_run_of(const nlohmann::json& attributes);

}  // namespace tessera
