#include "infer/eval_metrics.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>

#include "core/error.h"
#include "core/name_list.h"
#include "core/suggest.h"
#include "infer/eval_counts.h"

namespace tessera {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

template <class Item, class Value>
std::vector<double> column(const std::vector<Item>& items, Value value) {
  std::vector<double> values;
  for (const Item& item : items) values.push_back(value(item));
  return values;
}

// Of an evaluation that has seen nothing: what is measured without the values.
EvalResult nothing_measured(const EvalConfig& config, const ClassTable& classes) {
  return EvalCounts(counting_of(config, classes)).result();
}

std::vector<std::string> names_of(const ClassTable& classes, const EvalResult& result) {
  std::vector<std::string> names;
  for (const auto& metric : mean_metrics(result)) names.push_back(metric.first);
  for (const auto& metric : metrics_by_class(classes, result)) names.push_back(metric.first);
  return names;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string spelled_out(const std::string& name, const std::vector<std::string>& known) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kOtherNames = {
      {{"dice/", "f1/"}, {"accuracy/", "recall/"}}};
  for (const auto& [other, own] : kOtherNames) {
    if (name.starts_with(other)) return std::string(own) + name.substr(other.size());
  }
  return contains(known, "mean_" + name) ? "mean_" + name : name;
}

// What eval.metrics lacks for a metric that goes by this name; "" where it is none of them.
std::string missing_setting(const std::string& name, EvalConfig config, const ClassTable& classes) {
  for (const ExtraMetric extra : {ExtraMetric::kBoundary, ExtraMetric::kObjects}) {
    config.metrics = {extra};
    const std::vector<std::string> known = names_of(classes, nothing_measured(config, classes));
    if (contains(known, spelled_out(name, known))) return std::string(name_of(extra));
  }
  return "";
}

std::vector<std::string> class_metric_names(const EvalResult& result) {
  std::vector<std::string> names;
  for (const ClassMetric& metric : class_metrics(result)) names.push_back(metric.name);
  return names;
}

}  // namespace

std::vector<ClassMetric> class_metrics(const EvalResult& result) {
  const auto& scores = result.report.classes;
  std::vector<ClassMetric> metrics{{"iou", column(scores, [](const auto& c) { return c.iou; })},
                                   {"precision", column(scores, [](const auto& c) { return c.precision; })},
                                   {"recall", column(scores, [](const auto& c) { return c.accuracy; })},
                                   {"f1", column(scores, [](const auto& c) { return c.dice; })}};
  if (!result.boundaries.empty())
    metrics.push_back({"boundary_iou", column(result.boundaries, [](const auto& c) { return c.iou(); })});
  if (result.objects.empty()) return metrics;
  const auto add = [&](const char* name, auto value) { metrics.push_back({name, column(result.objects, value), true}); };
  add("object_precision", [](const auto& c) { return c.found.precision(); });
  add("object_recall", [](const auto& c) { return c.found.recall(); });
  add("object_f1", [](const auto& c) { return c.found.f1(); });
  add("segmentation_quality", [](const auto& c) { return c.segmentation_quality(); });
  add("panoptic_quality", [](const auto& c) { return c.panoptic_quality(); });
  return metrics;
}

std::vector<std::pair<std::string, double>> mean_metrics(const EvalResult& result) {
  std::vector<std::pair<std::string, double>> means = named_values(result.report);
  for (const ClassMetric& metric : class_metrics(result)) {
    const std::string name = "mean_" + metric.name;
    const bool known = std::any_of(means.begin(), means.end(), [&](const auto& mean) { return mean.first == name; });
    if (!known) means.emplace_back(name, mean_of_numbers(metric.values));
  }
  return means;
}

std::vector<std::pair<std::string, double>> metrics_by_class(const ClassTable& classes, const EvalResult& result) {
  std::vector<std::pair<std::string, double>> all;
  for (const ClassMetric& metric : class_metrics(result)) {
    for (size_t c = 0; c < metric.values.size(); ++c) {
      if (!metric.of_objects || result.object_classes[c])
        all.emplace_back(metric.name + "/" + classes.names[c], metric.values[c]);
    }
  }
  return all;
}

std::string full_metric_name(const std::string& name, const EvalConfig& config, const ClassTable& classes) {
  const EvalResult nothing = nothing_measured(config, classes);
  const std::vector<std::string> known = names_of(classes, nothing);
  const std::string full = contains(known, name) ? name : spelled_out(name, known);
  if (contains(known, full)) return full;
  if (const std::string extra = missing_setting(name, config, classes); !extra.empty())
    fail_usage("checkpoint.best_metric is '{0}', which is not measured; add eval.metrics=[{1}]", name, extra);
  std::vector<std::string> means;
  for (const auto& metric : mean_metrics(nothing)) means.push_back(metric.first);
  fail_usage("checkpoint.best_metric is '{}'{}; known: {}, and of one class, as in iou/{}: {} (classes: {})", name,
             did_you_mean(name, known), fmt::join(means, ", "), classes.names.back(),
             fmt::join(class_metric_names(nothing), ", "), name_list(classes.names));
}

std::vector<std::string> mean_metric_names(const EvalConfig& config) {
  std::vector<std::string> names;
  for (const bool multi_label : {false, true}) {
    const ClassTable two{{"one", "other"}, {}, multi_label};
    for (const auto& metric : mean_metrics(nothing_measured(config, two))) {
      if (!contains(names, metric.first)) names.push_back(metric.first);
    }
  }
  return names;
}

double metric_value(const std::string& name, const ClassTable& classes, const EvalResult& result) {
  for (const auto& metrics : {mean_metrics(result), metrics_by_class(classes, result)}) {
    for (const auto& [known, value] : metrics) {
      if (known == name) return value;
    }
  }
  return kNone;
}

std::string metric_help() {
  const ClassTable one{{"CLASS"}, {}};
  std::vector<std::string> said;
  const auto further = [&](std::vector<ExtraMetric> extra) {
    EvalConfig config;
    config.metrics = std::move(extra);
    std::vector<std::string> names;
    for (const std::string& name : names_of(one, nothing_measured(config, one))) {
      if (!contains(said, name)) names.push_back(name);
    }
    said.insert(said.end(), names.begin(), names.end());
    return fmt::format("{}", fmt::join(names, ", "));
  };
  std::string text = "metrics: " + further({});
  for (const ExtraMetric extra : {ExtraMetric::kBoundary, ExtraMetric::kObjects})
    text += fmt::format("\nwith eval.metrics=[{}]: {}", name_of(extra), further({extra}));
  return text;
}

}  // namespace tessera
