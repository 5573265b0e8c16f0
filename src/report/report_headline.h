#pragma once
#include <string>

#include "report/html_report.h"

namespace tessera {

// The top of the page: what was trained, how it ended, and the numbers a reader came for.
std::string headline_status(const ReportInput& input);  // the status pill
std::string headline_facts(const ReportInput& input);   // "deeplabv3plus · 43.6 M parameters · 2025-03-01 14:05 UTC"
std::string headline_tiles(const ReportInput& input);

}  // namespace tessera
