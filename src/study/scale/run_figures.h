#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/run_history.h"
#include "study/run_folder.h"

namespace tessera {

// What a training took and gave, from its log: Note [Run log]. NaN: not known.
struct RunFigures {
  bool done = false;
  int64_t steps = 0, steps_per_epoch = 0, parameters = 0;
  double images_per_s = kNoValue;  // median over the log's intervals, the first step of a session left out
  double epoch_s = kNoValue;       // of training alone
  double train_s = kNoValue;       // from the first step to the last one, evaluations left out
  double hidden_share = kNoValue;  // of the exchange of gradients, behind the backward pass; CPUs alone
  double memory_mb = kNoValue;     // most that rank 0's device had in use; on CPUs rank 0's process
  double data_wait = kNoValue;     // share of the time
  std::string metric = {};         // checkpoint.best_metric
  double last = kNoValue, best = kNoValue;
  std::vector<std::pair<double, double>> metric_by_epoch = {};
  RunMachine machine = {};
};

// Nothing where the run has not begun. `batch_size` is the global one. Throws Error for a log that cannot be read.
std::optional<RunFigures> run_figures(const std::filesystem::path& run, int64_t batch_size);

// The epoch in which the metric first was `target` or better; NaN: never.
double epoch_of(const RunFigures& figures, double target);

}  // namespace tessera
