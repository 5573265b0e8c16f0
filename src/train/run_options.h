#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "config/duration.h"
#include "train/run_data.h"

namespace tessera {

// Note [Stop at a step]
// With `stop_at` a run is trained up to that step of its train.duration, which schedules, averages and logs go by as ever: a
// rung of a tuner that gives the promising runs more steps. The step is saved and evaluated like a last one. An evaluation that
// eval.every would not have made there is shown to the hooks and is in the result, but the run's state does not know of it: it
// makes no best checkpoint and does not count for early stopping. So a run that goes on from there, by `resume` with a later
// stop_at or none, ends in the bits and with the best checkpoint of one that never stopped. A run that is beyond `stop_at`
// already takes no step and is evaluated where it stands.

// How this process takes part in a run.
struct RunOptions {
  bool resume = false;
  std::filesystem::path from = {};       // a run or checkpoint that a new run goes on from: Note [Going on]
  std::string device = {};               // of this rank; empty: train.device
  bool sharded = false;                  // ZeRO-1
  bool autotune_exchange = false;        // measure bucket sizes and compression first
  std::filesystem::path timeline = {};   // Chrome trace of all ranks, written at the end
  std::optional<Duration> stop_at = {};  // see Note [Stop at a step]; the same on all ranks
  std::optional<double> ends_at_s = {};  // by monotonic_s: saved and left before then; of any rank
  int64_t profile_steps = 0;             // that are recorded; RUN/profile says where their time went
  std::optional<RunData> data = {};      // opened already, and maybe shared with other runs; else the run opens its own
  bool report = true;                    // draw predictions and make report.html at the end
};

}  // namespace tessera
