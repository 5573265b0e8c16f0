#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/svg_chart.h"
#include "study/scale/scale_config.h"
#include "study/scale/scale_table.h"

namespace tessera {

// What a scaling study shows: the same numbers as a table on a terminal, as scale.csv, scale.json, scale.svg and scale.html.
std::string scale_text(const ScaleTable& table);
std::string scale_csv(const ScaleTable& table);
// Numbers that are not known are null.
nlohmann::json scale_json(const ScaleTable& table, const std::vector<ScaleOutcome>& outcomes, const ScaleConfig& config);
// Those for which there are numbers.
std::vector<LineChart> scale_charts(const ScaleTable& table, Scaling scaling);
std::string scale_page(const ScaleTable& table, const std::vector<ScaleOutcome>& outcomes, const ScaleConfig& config);

// Writes the four files into a folder.
void write_scale_files(const std::filesystem::path& folder, const ScaleTable& table, const std::vector<ScaleOutcome>& outcomes,
                       const ScaleConfig& config);

}  // namespace tessera
