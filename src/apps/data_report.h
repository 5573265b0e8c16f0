#pragma once
#include <nlohmann/json.hpp>

#include "config/data_config.h"
#include "data/check/data_check.h"
#include "data/datasets/split.h"

namespace tessera {

// Reads every sample, with a progress bar.
DataReport examine(const Dataset& dataset, const DataConfig& config, Split split);

nlohmann::json report_json(const DataReport& report, const ClassTable& classes);

}  // namespace tessera
