#include "report/report_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "report/class_curves.h"
#include "report/decimate.h"
#include "report/html.h"
#include "report/number_text.h"
#include "report/run_totals.h"

namespace tessera {
namespace {

constexpr size_t kMaxMetrics = 6;  // more lines than this cannot be told apart

bool any_finite(const std::vector<double>& values) {
  return std::any_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

std::vector<double> steps_of(const RunHistory& history) {
  std::vector<double> steps;
  for (const TrainPoint& point : history.train) steps.push_back(static_cast<double>(point.step));
  return steps;
}

CurveSeries pick(std::string label, SeriesLook look, const std::vector<double>& x, const std::vector<double>& y,
                 const std::vector<size_t>& indices) {
  CurveSeries series{.label = std::move(label), .look = look};
  for (const size_t i : indices) {
    series.x.push_back(x[i]);
    series.y.push_back(y[i]);
  }
  return series;
}

CurveSeries decimated(std::string label, SeriesLook look, const std::vector<double>& x, const std::vector<double>& y) {
  return pick(std::move(label), look, x, y, decimate(y, kMaxCurvePoints));
}

std::optional<CurveSeries> metric_series(const RunHistory& history, const std::string& name, const std::string& label) {
  std::vector<double> x;
  std::vector<double> y;
  for (const EvalPoint& point : history.eval) {
    if (!point.metrics.contains(name)) continue;
    x.push_back(static_cast<double>(point.step));
    y.push_back(point.metric(name));
  }
  if (!any_finite(y)) return std::nullopt;
  return decimated(label, SeriesLook::kLine, x, y);
}

std::string not_finite_note(const RunHistory& history) {
  const auto bad = [](const TrainPoint& point) { return !std::isfinite(point.loss); };
  const auto count = std::count_if(history.train.begin(), history.train.end(), bad);
  if (count == 0) return "";
  const auto first = std::find_if(history.train.begin(), history.train.end(), bad);
  return fmt::format("{} logged {} not finite, first at step {}.", count_text(count), count == 1 ? "loss is" : "losses are",
                     count_text(first->step));
}

std::optional<Curve> loss_curve(const RunHistory& history) {
  const auto x = steps_of(history);
  const auto y = column(history, &TrainPoint::loss);
  Curve curve{.id = "loss", .title = "Training loss", .note = not_finite_note(history), .wide = true};
  if (any_finite(y)) {
    // About 40 windows over the run: smooth enough to compare, quick enough to show a change of the schedule.
    const auto smoothed = smooth(y, std::clamp(static_cast<double>(y.size()) / 40.0, 1.0, 200.0));
    const auto indices = decimate(y, kMaxCurvePoints);
    curve.series.push_back(pick("loss", SeriesLook::kFaint, x, y, indices));
    curve.series.push_back(pick("smoothed", SeriesLook::kSmooth, x, smoothed, indices));
    const auto last = std::find_if(smoothed.rbegin(), smoothed.rend(), [](double v) { return std::isfinite(v); });
    curve.summary = fmt::format("{} smoothed", short_text(*last));
  }
  if (auto validation = metric_series(history, "loss", "validation")) curve.series.push_back(std::move(*validation));
  if (curve.series.empty() && curve.note.empty()) return std::nullopt;
  return curve;
}

// A second name of what is drawn already: lines of one curve over the other say nothing.
bool is_second_name(const std::string& name, const EvalPoint& point) {
  return (name == "mean_accuracy" && point.metrics.contains("mean_recall")) ||
         (name == "mean_dice" && point.metrics.contains("mean_f1"));
}

// Scores between 0 and 1, the well-known ones first.
std::vector<std::string> score_names(const RunHistory& history) {
  std::vector<std::string> names{"mean_iou",    "pixel_accuracy", "mean_boundary_iou", "mean_object_f1", "mean_precision",
                                 "mean_recall", "mean_f1"};
  for (const EvalPoint& point : history.eval) {
    for (const auto& [name, value] : point.metrics) {
      if (name == "loss" || is_second_name(name, point)) continue;
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

std::optional<Curve> metrics_curve(const RunHistory& history) {
  Curve curve{.id = "metrics", .title = "Validation", .percent = true};
  for (const std::string& name : score_names(history)) {
    auto series = metric_series(history, name, metric_label(name));
    if (!series || curve.series.size() == kMaxMetrics) continue;
    if (std::any_of(series->y.begin(), series->y.end(), [](double v) { return v < 0 || v > 1; })) continue;
    curve.series.push_back(std::move(*series));
  }
  if (curve.series.empty()) return std::nullopt;
  if (const EvalPoint* best = best_eval(history)) {
    curve.summary = fmt::format("best {} {} at step {}", metric_label(history.best_metric),
                                percent_unit_text(best->metric(history.best_metric)), count_text(best->step));
  }
  return curve;
}

std::optional<Curve> train_curve(const RunHistory& history, const char* id, const char* title, const char* label,
                                 double TrainPoint::*field) {
  const auto y = column(history, field);
  if (!any_finite(y)) return std::nullopt;
  Curve curve{.id = id, .title = title};
  curve.series.push_back(decimated(label, SeriesLook::kLine, steps_of(history), y));
  return curve;
}

std::optional<Curve> throughput_curve(const RunHistory& history) {
  auto curve = train_curve(history, "throughput", "Throughput", "images/s", &TrainPoint::images_per_s);
  if (!curve) return std::nullopt;
  curve->summary = fmt::format("median {} images/s", short_text(median(column(history, &TrainPoint::images_per_s))));
  const auto wait = column(history, &TrainPoint::data_wait);
  if (any_finite(wait)) {
    auto series = decimated("waiting for data", SeriesLook::kArea, steps_of(history), wait);
    series.right_axis = true;
    curve->series.push_back(std::move(series));
    curve->summary += fmt::format(", {} waiting for data", percent_unit_text(median(wait), 1));
  }
  return curve;
}

// Six significant digits are more than a screen shows and keep the file small.
double rounded(double value) {
  return std::isfinite(value) ? std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr) : value;
}

nlohmann::json numbers(const std::vector<double>& values) {
  nlohmann::json list = nlohmann::json::array();
  for (const double value : values) {
    list.push_back(std::isfinite(value) ? nlohmann::json(rounded(value)) : nlohmann::json(nullptr));
  }
  return list;
}

const char* look_name(SeriesLook look) {
  switch (look) {
    case SeriesLook::kFaint: return "faint";
    case SeriesLook::kSmooth: return "smooth";
    case SeriesLook::kLine: return "line";
    case SeriesLook::kArea: return "area";
  }
  return "line";
}

}  // namespace

std::vector<Curve> make_curves(const RunHistory& history) {
  std::vector<Curve> curves;
  const auto add = [&curves](std::optional<Curve> curve) {
    if (curve) curves.push_back(std::move(*curve));
  };
  add(loss_curve(history));
  add(metrics_curve(history));
  add(class_curve(history));
  add(throughput_curve(history));
  if (auto lr = train_curve(history, "lr", "Learning rate", "lr", &TrainPoint::lr)) {
    lr->series[0].look = SeriesLook::kSmooth;
    add(std::move(lr));
  }
  if (auto norm = train_curve(history, "grad_norm", "Gradient norm", "norm", &TrainPoint::grad_norm)) {
    norm->summary = fmt::format("median {}", short_text(median(column(history, &TrainPoint::grad_norm))));
    add(std::move(norm));
  }
  return curves;
}

std::string curve_figures(const std::vector<Curve>& curves) {
  std::string html;
  for (const Curve& curve : curves) {
    html += fmt::format("<figure class=\"card curve{}\"><figcaption><h3>{}</h3><span class=\"quiet\">{}</span></figcaption>",
                        curve.wide ? " wide" : "", escape_html(curve.title), escape_html(curve.summary));
    if (!curve.series.empty()) {
      html += fmt::format("<div class=\"plot\"><canvas data-curve=\"{}\" role=\"img\" aria-label=\"{}\"></canvas></div>",
                          escape_html(curve.id), escape_html(curve.title + ", " + curve.summary));
    }
    if (!curve.note.empty()) html += fmt::format("<p class=\"note\">{}</p>", escape_html(curve.note));
    html += "</figure>";
  }
  return html;
}

nlohmann::json curve_data(const std::vector<Curve>& curves) {
  nlohmann::json data = nlohmann::json::object();
  for (const Curve& curve : curves) {
    nlohmann::json list = nlohmann::json::array();
    for (const CurveSeries& series : curve.series) {
      list.push_back({{"label", series.label},
                      {"look", look_name(series.look)},
                      {"right", series.right_axis},
                      {"hidden", series.hidden},
                      {"x", numbers(series.x)},
                      {"y", numbers(series.y)}});
    }
    data[curve.id] = {{"percent", curve.percent}, {"series", std::move(list)}};
  }
  return data;
}

std::string metric_label(const std::string& name) {
  const size_t slash = name.find('/');
  std::string label = name.substr(0, slash);
  std::replace(label.begin(), label.end(), '_', ' ');
  const auto write = [&label](std::string_view word, std::string_view instead) {
    for (size_t at = label.find(word); at != std::string::npos; at = label.find(word, at + instead.size()))
      label.replace(at, word.size(), instead);
  };
  write("iou", "IoU");
  write("f1", "F1");
  return slash == std::string::npos ? label : label + " of " + name.substr(slash + 1);
}

}  // namespace tessera
