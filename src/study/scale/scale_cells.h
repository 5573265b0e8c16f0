#pragma once
#include <string>
#include <vector>

#include "config/experiment.h"
#include "study/scale/scale_config.h"

namespace tessera {

// One training of a scaling study.
struct ScaleCell {
  std::string model = {};  // as in ScaleConfig::models; empty: the config's
  ParallelMode mode = ParallelMode::kDdp;
  int64_t ranks = 1;
  int64_t repeat = 0;
  bool operator==(const ScaleCell&) const = default;
};

// All of a study: model by model, mode by mode, from few ranks to many. `none` is there with one rank alone. Throws UsageError.
std::vector<ScaleCell> scale_cells(const ScaleConfig& config);

// The numbers of ranks that were asked for and that mode none is left out of, for people; empty: there are none.
std::string left_out_of_none(const ScaleConfig& config);

// "unet_small-ddp-4-seed1": a name of a folder and of a job.
std::string cell_name(const ScaleCell& cell);

// What it says of the config, "key=value" each. `base` is the experiment of one rank.
std::vector<std::string> cell_overrides(const ScaleConfig& config, const ScaleCell& cell, const Experiment& base);

// What a model's name says of the config: the lines of configs/base/models/NAME, or model.name=NAME where there is none.
std::vector<std::string> model_overrides(const std::string& model);

}  // namespace tessera
