#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "data/check/finding.h"

namespace tessera {

// What was found, without secrets in any text.
std::vector<Finding> findings_without_secrets(std::vector<Finding> findings);

// Why a sample cannot be used: the name of the kind of fault, and the reason with what was found out about it.
struct FoundFault {
  std::string kind, detail;
};

// Of each sample of the split that cannot be used, by its name.
std::map<std::string, FoundFault> found_faults(const Survey& survey, const std::vector<Finding>& findings);

// A line for each finding of the split about samples that can be used, or about the split: "  warning: ID: DETAIL [kind]". Of
// more than a few samples the first ones are named; all: each by itself.
void print_findings(const Survey& survey, const std::vector<Finding>& findings, bool all);

nlohmann::json findings_json(std::span<const Survey> surveys, const std::vector<Finding>& findings);

// A split that cannot be opened, for the reason that the error gives.
Finding opening_fault(const std::string& reason);

}  // namespace tessera
