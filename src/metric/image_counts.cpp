#include "metric/image_counts.h"

#include <array>

#include "metric/iou_report.h"
#include "metric/multi_label_counts.h"

namespace tessera {
namespace {

struct MeanMetric {
  const char* name;
  double IouReport::*value;
};
constexpr std::array<MeanMetric, 6> kMeans = {{{"mean_iou", &IouReport::mean_iou_present},
                                               {"pixel_accuracy", &IouReport::pixel_accuracy},
                                               {"mean_precision", &IouReport::mean_precision},
                                               {"mean_recall", &IouReport::mean_accuracy},
                                               {"mean_f1", &IouReport::mean_dice},
                                               {"frequency_weighted_iou", &IouReport::frequency_weighted_iou}}};
struct ClassMetricField {
  const char* name;
  double ClassScore::*value;
};
constexpr std::array<ClassMetricField, 3> kOfClasses = {
    {{"iou", &ClassScore::iou}, {"precision", &ClassScore::precision}, {"recall", &ClassScore::accuracy}}};

}  // namespace

ImageCounts image_counts(std::span<const ClassCounts> classes, bool overlap) {
  ImageCounts counts;
  for (size_t c = 0; c < classes.size(); ++c) {
    if (overlap || !classes[c].absent()) counts.emplace_back(static_cast<int>(c), classes[c]);
  }
  return counts;
}

std::vector<std::string> counted_metric_names(const std::vector<std::string>& classes) {
  std::vector<std::string> names;
  for (const MeanMetric& mean : kMeans) names.emplace_back(mean.name);
  for (const ClassMetricField& field : kOfClasses) {
    for (const std::string& name : classes) names.push_back(std::string(field.name) + "/" + name);
  }
  return names;
}

std::vector<double> counted_metrics(std::span<const ClassCounts> classes, bool overlap) {
  const IouReport report = overlap ? make_multi_label_report(classes) : make_iou_report(classes);
  std::vector<double> values;
  values.reserve(kMeans.size() + kOfClasses.size() * classes.size());
  for (const MeanMetric& mean : kMeans) values.push_back(report.*mean.value);
  for (const ClassMetricField& field : kOfClasses) {
    for (const ClassScore& score : report.classes) values.push_back(score.*field.value);
  }
  return values;
}

}  // namespace tessera
