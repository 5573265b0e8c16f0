#pragma once
#include <filesystem>

#include "config/experiment.h"
#include "train/run_folder.h"
#include "train/trainer.h"

namespace tessera {

// A whole run, or one rank's part in it: folder, config.yaml, environment.json, training, report.html; only the first rank
// writes. Refuses a folder that already holds a run unless `resume`. Throws where the run fails, Diverged where its numbers do;
// once its steps are done and saved, an evaluation, pictures or a report that fail are only warned of. From the first call on
// stop signals are caught, see catch_stop_signals. A process may call it any number of times, one run after another: each is
// what it would be alone.
RunResult run_training(const Experiment& experiment, const RunOptions& options, World& world, Hooks& hooks);

// With default_hooks on the first rank and none on the others.
RunResult run_training(const Experiment& experiment, const RunOptions& options, World& world);

// The console, log.jsonl and, with run.tensorboard, TensorBoard's events.
Hooks default_hooks(const Experiment& experiment);

// Makes RUN/report.html from what is in the folder: log, config, environment and the drawn predictions, if there are any.
void write_report(const std::filesystem::path& folder);

}  // namespace tessera
