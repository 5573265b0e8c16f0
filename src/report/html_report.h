#pragma once
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/run_history.h"

namespace tessera {

// A prediction worth looking at, drawn and encoded by the caller.
struct ReportPicture {
  std::string caption{};
  double score = kNoValue;  // mean IoU of the picture, 0..1; NaN is not shown
  std::vector<uint8_t> png{};
};

// What a report is made of. Everything may be empty: what is not there is left out of the page.
struct ReportInput {
  RunHistory history;
  std::string title{};
  std::string config_yaml{};
  nlohmann::json environment{};  // shown as a table; "device" also in the headline
  nlohmann::json model{};        // shown as a table; "name" and "parameters" also in the headline
  std::vector<ReportPicture> best{};
  std::vector<ReportPicture> worst{};
  std::vector<std::string> class_names{};
  std::vector<std::array<uint8_t, 3>> palette{};
};

// One HTML file that needs nothing else: styles, scripts, data and pictures are inside, and its content security policy
// keeps the browser from loading anything.
std::string render_report(const ReportInput& input);

}  // namespace tessera
