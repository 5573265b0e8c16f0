#include "report/class_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/decimate.h"
#include "report/number_text.h"
#include "report/run_totals.h"

namespace tessera {
namespace {

constexpr size_t kShownAtFirst = 6;  // as many as there are colours
constexpr size_t kFewestPoints = 8;  // of a class

// Classes by name, as evaluations may list them in another order.
std::map<std::string, CurveSeries> series_by_name(const RunHistory& history) {
  std::map<std::string, CurveSeries> all;
  for (const EvalPoint& point : history.eval) {
    for (const ClassEntry& entry : point.per_class) {
      CurveSeries& series = all[entry.name];
      series.label = entry.name;
      series.x.push_back(static_cast<double>(point.step));
      series.y.push_back(entry.iou);
    }
  }
  return all;
}

CurveSeries thinned(const CurveSeries& whole, size_t most) {
  CurveSeries thin{.label = whole.label};
  for (const size_t i : decimate(whole.y, most)) {
    thin.x.push_back(whole.x[i]);
    thin.y.push_back(whole.y[i]);
  }
  return thin;
}

}  // namespace

std::optional<Curve> class_curve(const RunHistory& history) {
  const EvalPoint* last = last_eval_with_classes(history);
  if (last == nullptr) return std::nullopt;
  std::vector<ClassEntry> classes = last->per_class;
  std::erase_if(classes, [](const ClassEntry& entry) { return !std::isfinite(entry.iou); });
  if (classes.empty()) return std::nullopt;
  std::stable_sort(classes.begin(), classes.end(), [](const auto& a, const auto& b) { return a.iou > b.iou; });

  Curve curve{.id = "classes", .title = "IoU of classes", .percent = true};
  const bool too_many = classes.size() > kShownAtFirst;
  const std::map<std::string, CurveSeries> all = series_by_name(history);
  const size_t most = std::max(kFewestPoints, std::min(kMaxCurvePoints, kMaxClassPoints / classes.size()));
  for (size_t rank = 0; rank < classes.size(); ++rank) {
    const bool extreme = rank < kShownAtFirst / 2 || classes.size() - rank <= kShownAtFirst / 2;
    curve.series.push_back(thinned(all.at(classes[rank].name), most));
    curve.series.back().hidden = too_many && !extreme;
  }
  // Those that are shown come first, and so each has a colour of its own.
  std::stable_partition(curve.series.begin(), curve.series.end(), [](const CurveSeries& series) { return !series.hidden; });
  curve.summary = too_many ? fmt::format("the {0} best and the {0} worst of {1}", kShownAtFirst / 2, classes.size())
                           : fmt::format("lowest {}: {}", classes.back().name, percent_unit_text(classes.back().iou));
  return curve;
}

}  // namespace tessera
