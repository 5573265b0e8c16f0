#pragma once
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/html_report.h"
#include "report/run_history.h"

namespace tessera {

// HTML of the report's tables and picture grids. Each is "" when there is nothing to show.

// One row per class with its colour; the page's script sorts it by the column that is clicked.
std::string class_table(const EvalPoint& eval, const std::vector<std::string>& names,
                        const std::vector<std::array<uint8_t, 3>>& palette);

// One row per class whose objects were counted.
std::string object_table(const EvalPoint& eval, const std::vector<std::string>& names,
                         const std::vector<std::array<uint8_t, 3>>& palette);

// The name of class `index` in an evaluation, its number when nobody named it.
std::string class_name(const EvalPoint& eval, const std::vector<std::string>& names, size_t index);

// The pairs (label, prediction) that take the largest share of a label's pixels. Labels with less than 1 pixel in 10,000
// are left out: their shares are noise.
std::string confused_pairs(const EvalPoint& eval, const std::vector<std::string>& names);

std::string bad_sample_table(const std::vector<BadSampleEntry>& samples);

// Nested objects become dotted names.
std::string key_value_table(const nlohmann::json& object);

std::string picture_grid(const std::vector<ReportPicture>& pictures);

}  // namespace tessera
