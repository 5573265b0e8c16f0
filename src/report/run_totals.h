#pragma once
#include <vector>

#include "report/run_history.h"

namespace tessera {

// One field of all training lines, in order.
std::vector<double> column(const RunHistory& history, double TrainPoint::*field);

// Of the finite values; NaN when there is none.
double median(std::vector<double> values);
double largest(const std::vector<double>& values);

// The evaluation with the highest value of the run's best_metric (the earliest of equals), or null.
const EvalPoint* best_eval(const RunHistory& history);

// The newest evaluation that tells the classes apart, that has a confusion matrix; null when none does.
const EvalPoint* last_eval_with_classes(const RunHistory& history);
const EvalPoint* last_eval_with_confusion(const RunHistory& history);

// The status of the last session: that of its `end` line, or "not finished".
std::string run_status(const RunHistory& history);

}  // namespace tessera
