#pragma once
#include <string>
#include <vector>

#include "study/controller/log_follower.h"
#include "study/controller/study_settings.h"
#include "study/trial.h"

namespace tessera {

// The reports that the log has beyond those of the trial: evaluations, of which each unit (an epoch, a step) counts the first.
// Throws UsageError where the evaluations do not have the objective's metric.
std::vector<Report> new_reports(const Trial& trial, const LogFollower& log, const Objective& objective, StepUnit unit);

// The trial's values, one per objective: of its best evaluation by the first one, or of its last. Empty where there is none.
std::vector<double> trial_values(const Trial& trial, const LogFollower& log, const std::vector<Objective>& objectives,
                                 TrialValue which);

// Objectives that a training tells besides its evaluations: seconds, parameters, ...
std::vector<std::string> training_facts();

// What a log follower has to look for: the objectives' metrics.
std::vector<std::string> metric_names(const std::vector<Objective>& objectives);

}  // namespace tessera
