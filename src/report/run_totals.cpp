#include "report/run_totals.h"

#include <algorithm>
#include <cmath>

namespace tessera {

std::vector<double> column(const RunHistory& history, double TrainPoint::*field) {
  std::vector<double> values;
  values.reserve(history.train.size());
  for (const TrainPoint& point : history.train) values.push_back(point.*field);
  return values;
}

double median(std::vector<double> values) {
  std::erase_if(values, [](double v) { return !std::isfinite(v); });
  if (values.empty()) return kNoValue;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double largest(const std::vector<double>& values) {
  double found = kNoValue;
  for (const double value : values) {
    if (std::isfinite(value) && !(value <= found)) found = value;
  }
  return found;
}

const EvalPoint* best_eval(const RunHistory& history) {
  const EvalPoint* best = nullptr;
  for (const EvalPoint& point : history.eval) {
    const double score = point.metric(history.best_metric);
    if (std::isfinite(score) && (best == nullptr || score > best->metric(history.best_metric))) best = &point;
  }
  return best;
}

const EvalPoint* last_eval_with_classes(const RunHistory& history) {
  const auto found =
      std::find_if(history.eval.rbegin(), history.eval.rend(), [](const EvalPoint& point) { return !point.per_class.empty(); });
  return found != history.eval.rend() ? &*found : nullptr;
}

const EvalPoint* last_eval_with_confusion(const RunHistory& history) {
  const auto found =
      std::find_if(history.eval.rbegin(), history.eval.rend(), [](const EvalPoint& point) { return !point.confusion.empty(); });
  return found != history.eval.rend() ? &*found : nullptr;
}

std::string run_status(const RunHistory& history) {
  for (auto event = history.events.rbegin(); event != history.events.rend(); ++event) {
    if (event->type == "start" || event->type == "resume") break;
    if (event->type == "end") return event->fields.value("status", "ended");
  }
  return "not finished";
}

}  // namespace tessera
