#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "study/executor/make_executor.h"
#include "study/scale/scale_config.h"
#include "study/scale/scale_state.h"
#include "study/scale/scale_table.h"

namespace tessera {

// What a scaling study's file says: the keys of ScaleConfig, `executor:` and `prices:`.
struct ScaleFile {
  ScaleConfig config = {};
  ExecutorConfig executor = LocalOptions{};
  std::optional<Prices> prices = {};
};

// Nothing where `file` is an experiment's config: a study has a `config:`. Either may be built in. Throws UsageError.
std::optional<ScaleFile> read_scale_file(const std::filesystem::path& file);

// A training as it is to be, checked: its experiment is one that this program can read.
struct PlannedTraining {
  ScaleTrial trial = {};
  int64_t batch_size = 0;
};

// All trainings of a study whose folder is `folder`. `check` says what else is wrong with an experiment, by throwing. Throws
// UsageError.
std::vector<PlannedTraining> plan_scale(const ScaleConfig& config, const std::filesystem::path& folder,
                                        const std::function<void(const Experiment&)>& check = {});

// How they stand now.
std::vector<ScaleOutcome> scale_outcomes(const std::vector<PlannedTraining>& planned, const ScaleState& state,
                                         const std::filesystem::path& folder);

}  // namespace tessera
