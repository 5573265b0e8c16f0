#pragma once
#include <filesystem>

#include "config/experiment.h"
#include "train/trainer.h"

namespace tessera {

// The folder a config's run goes to: run.dir, or runs/<run.name>.
std::filesystem::path run_folder(const Experiment& experiment);

// A whole run: folder, config.yaml, environment.json, training with all hooks, report.html. Refuses a folder that already
// holds a run unless `resume`.
RunResult run_training(const Experiment& experiment, bool resume);

// Makes RUN/report.html from what is in the folder: log, config, environment and the drawn predictions, if there are any.
void write_report(const std::filesystem::path& folder);

}  // namespace tessera
