#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/check/finding.h"
#include "report/check_page.h"

namespace tessera {

// The findings as the page shows them, with pictures of the first samples of each.
std::vector<CheckPageFinding> page_findings(const CheckInput& input, const std::vector<Finding>& findings);

// What the page says of the splits in a line: how many samples, how fast they were read.
std::vector<std::pair<std::string, std::string>> page_facts(std::span<const Survey> surveys);

}  // namespace tessera
