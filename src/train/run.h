#pragma once
#include <filesystem>

#include "config/experiment.h"
#include "train/run_folder.h"
#include "train/trainer.h"

namespace tessera {

// How this process takes part in a run.
struct RunOptions {
  bool resume = false;
  std::string device = {};              // of this rank; empty: train.device
  bool sharded = false;                 // ZeRO-1
  bool autotune_exchange = false;       // measure bucket sizes and compression first
  std::filesystem::path timeline = {};  // Chrome trace of all ranks
};

// A whole run, or one rank's part in it: folder, config.yaml, environment.json, training with all hooks, report.html; only
// the first rank writes. Refuses a folder that already holds a run unless `resume`. Throws where the run fails; once its steps
// are done and saved, an evaluation, pictures or a report that fail are only warned of.
RunResult run_training(const Experiment& experiment, const RunOptions& options, World& world);

// Makes RUN/report.html from what is in the folder: log, config, environment and the drawn predictions, if there are any.
void write_report(const std::filesystem::path& folder);

}  // namespace tessera
