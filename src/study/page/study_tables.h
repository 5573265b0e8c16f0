#pragma once
#include <string>
#include <vector>

#include "study/page/study_page.h"

namespace tessera {

// The tables of a study's page, as HTML; "" where there is nothing for one.

// Where trials were judged: how many came to each of these steps, and what became of them there.
std::string rung_table(const StudyPageInput& study);

// The trials of these indices: the Pareto front.
std::string front_table(const StudyPageInput& study, const std::vector<size_t>& members);

// All trials, or of very many the youngest.
inline constexpr size_t kMostTrialRows = 2000;
std::string trial_table(const StudyPageInput& study);

// What failed, and why.
std::string failure_table(const StudyPageInput& study);

}  // namespace tessera
