#pragma once
#include <nlohmann/json.hpp>

#include "config/data_config.h"
#include "data/check/data_check.h"
#include "data/datasets/data_line.h"

namespace tessera {

// Reads every sample, with a progress bar.
Survey examine(const OpenSplit& split, const DataConfig& config);

// report_of, with reasons that tell no secrets.
DataReport shown_report(const Survey& survey);

nlohmann::json report_json(const DataReport& report, const ClassTable& classes);

}  // namespace tessera
