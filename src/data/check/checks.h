#pragma once
#include <vector>

#include "data/check/finding.h"

namespace tessera {

// The checks, a family in each source. Each adds what it finds.

void check_usable(const CheckInput& input, std::vector<Finding>& findings);    // fault_checks.cpp: samples that cannot be used
void check_samples(const CheckInput& input, std::vector<Finding>& findings);   // sample_checks.cpp: each sample by itself
void check_odd_ones(const CheckInput& input, std::vector<Finding>& findings);  // odd_checks.cpp: samples unlike all others
void check_duplicates(const CheckInput& input, std::vector<Finding>& findings);  // duplicate_checks.cpp
void check_classes(const CheckInput& input, std::vector<Finding>& findings);     // class_checks.cpp

// One finding of a kind for the samples of a split for which `detail` has something to say.
template <class F>
void find_samples(const Survey& survey, FindingKind kind, std::vector<Finding>& findings, F&& detail) {
  Finding finding{.kind = kind, .split = survey.split, .samples = {}, .text = {}, .keys = {}};
  for (size_t i = 0; i < survey.samples.size(); ++i) {
    std::string text = detail(survey.samples[i]);
    if (text.empty()) continue;
    const auto index = static_cast<int64_t>(i);
    finding.samples.push_back({.index = index, .id = survey.data->id(index), .detail = std::move(text)});
  }
  if (!finding.samples.empty()) findings.push_back(std::move(finding));
}

}  // namespace tessera
