#include "study/scale/run_figures.h"

#include <algorithm>
#include <cmath>

#include "core/files.h"
#include "report/run_totals.h"

namespace tessera {
namespace {

// Lines of a session's first step are slow by what is done once.
std::vector<TrainPoint> steady_points(const RunHistory& history) {
  std::vector<TrainPoint> points = history.train;
  std::erase_if(points, [&](const TrainPoint& point) {
    if (point.step <= 1) return true;
    return std::any_of(history.events.begin(), history.events.end(),
                       [&](const RunEvent& event) { return event.type == "resume" && point.step == event.step + 1; });
  });
  return points.empty() ? history.train : points;
}

template <class Get>
double median_over(const std::vector<TrainPoint>& points, const Get& get) {
  std::vector<double> values;
  for (const TrainPoint& point : points) values.push_back(get(point));
  return median(values);
}

}  // namespace

std::optional<RunFigures> run_figures(const fs::path& run, int64_t batch_size) {
  std::error_code error;
  if (!fs::exists(run / "log.jsonl", error)) return std::nullopt;
  const RunHistory history = read_run_log(run / "log.jsonl");
  RunFigures figures;
  figures.metric = history.best_metric;
  figures.machine = run_machine(run);
  for (const RunEvent& event : history.events) {
    if (event.type == "start") {
      figures.steps_per_epoch = event.fields.value("steps_per_epoch", int64_t{0});
      figures.parameters = event.fields.value("parameters", int64_t{0});
    }
    if (event.type == "end") figures.train_s = event.fields.value("seconds", kNoValue);
  }
  figures.done = run_status(history) == "done";
  if (!history.train.empty()) figures.steps = history.train.back().step;
  const std::vector<TrainPoint> steady = steady_points(history);
  figures.images_per_s = median_over(steady, [](const TrainPoint& point) { return point.images_per_s; });
  figures.epoch_s = static_cast<double>(figures.steps_per_epoch * batch_size) / figures.images_per_s;
  figures.hidden_share = median_over(steady, [](const TrainPoint& point) {
    const double hidden = 1 - point.exchange_wait_ms / point.exchange_ms;
    return std::isfinite(hidden) ? std::max(0.0, hidden) : kNoValue;  // the log of one rank has none
  });
  figures.data_wait = median_over(steady, [](const TrainPoint& point) { return point.data_wait; });
  figures.memory_mb = largest(column(history, &TrainPoint::memory_mb));
  for (const EvalPoint& point : history.eval)
    figures.metric_by_epoch.emplace_back(point.epoch, point.metric(history.best_metric));
  if (!history.eval.empty()) figures.last = history.eval.back().metric(history.best_metric);
  if (const EvalPoint* best = best_eval(history)) figures.best = best->metric(history.best_metric);
  return figures;
}

double epoch_of(const RunFigures& figures, double target) {
  for (const auto& [epoch, value] : figures.metric_by_epoch) {
    if (value >= target) return epoch;
  }
  return kNoValue;
}

}  // namespace tessera
