#pragma once
#include <optional>
#include <string>
#include <vector>

#include "study/prices.h"
#include "study/scale/run_figures.h"
#include "study/scale/scale_cells.h"
#include "study/trial.h"

namespace tessera {

// A training of the study as it stands.
struct ScaleOutcome {
  ScaleCell cell = {};
  int64_t batch_size = 0;
  TrialState state = TrialState::kWaiting;
  std::string reason = {};
  std::string run = {};  // its folder
  std::optional<RunFigures> figures = {};
};

// All trainings of one model, mode and number of ranks. Times are medians, metrics means over those that are complete. NaN: not
// known, or no sense.
struct ScaleRow {
  std::string model = {};
  ParallelMode mode = ParallelMode::kDdp;
  int64_t ranks = 1, batch_size = 0;
  int64_t complete = 0, failed = 0, unfinished = 0;
  double epoch_s = kNoValue, epoch_s_low = kNoValue, epoch_s_high = kNoValue;
  double images_per_s = kNoValue;
  double speed_up = kNoValue;    // images a second against the fewest ranks of this model and mode
  double ideal = kNoValue;       // what as many times the ranks would give
  double efficiency = kNoValue;  // the one over the other
  double hidden_share = kNoValue;
  double memory_mb = kNoValue;  // of a rank
  double data_wait = kNoValue;
  double metric = kNoValue, metric_sd = kNoValue, metric_low = kNoValue, metric_high = kNoValue;  // at the end of the training
  double metric_change = kNoValue;  // largest difference to the fewest ranks with the same seed
  double train_s = kNoValue;
  double epochs_to_target = kNoValue, seconds_to_target = kNoValue;
  double cost_per_epoch = kNoValue, cost_to_target = kNoValue;
};

struct ScaleTable {
  std::vector<ScaleRow> rows;
  std::string metric = "mean_iou";
  double target = kNoValue;
  std::string currency = {};  // empty: no prices
  std::string device = {}, machine = {}, commit = {};
};

// Rows in the order of the outcomes. Without a target it is the highest value that every complete training reached.
ScaleTable scale_table(const std::vector<ScaleOutcome>& outcomes, std::optional<double> target,
                       const std::optional<Prices>& prices);

// "U-Net ddp" of a row, for curves: what does not change over the rows is left out.
std::string curve_label(const ScaleTable& table, const ScaleRow& row);

}  // namespace tessera
