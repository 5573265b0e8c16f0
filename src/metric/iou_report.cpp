#include "metric/iou_report.h"

#include <limits>

namespace tessera {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double mean_over_classes(const std::vector<ClassScore>& classes, double ClassScore::*field) {
  std::vector<double> values;
  values.reserve(classes.size());
  for (const ClassScore& c : classes) values.push_back(c.*field);
  return mean_of_numbers(values);
}

}  // namespace

IouReport make_iou_report(std::span<const ClassCounts> classes) {
  IouReport report;
  int64_t total = 0;
  int64_t correct = 0;
  double iou_sum = 0;
  double weighted_iou_sum = 0;
  for (const ClassCounts& c : classes) {
    const ClassScore& score = report.classes.emplace_back(
        ClassScore{.pixels = c.labelled(), .iou = c.iou(), .accuracy = c.recall(), .dice = c.f1(), .precision = c.precision()});
    total += c.labelled();
    correct += c.tp;
    if (c.absent()) continue;
    iou_sum += score.iou;
    weighted_iou_sum += static_cast<double>(c.labelled()) * score.iou;
  }
  report.pixel_accuracy = share_of(correct, total);
  report.mean_accuracy = mean_over_classes(report.classes, &ClassScore::accuracy);
  report.mean_iou_present = mean_over_classes(report.classes, &ClassScore::iou);
  report.mean_iou_all = total == 0 ? kNone : iou_sum / static_cast<double>(classes.size());
  report.mean_dice = mean_over_classes(report.classes, &ClassScore::dice);
  report.mean_precision = mean_over_classes(report.classes, &ClassScore::precision);
  report.frequency_weighted_iou = total == 0 ? kNone : weighted_iou_sum / static_cast<double>(total);
  return report;
}

IouReport make_iou_report(std::span<const int64_t> counts, int num_classes) {
  return make_iou_report(class_counts(counts, num_classes));
}

std::vector<std::pair<std::string, double>> named_values(const IouReport& report) {
  return {{"mean_iou", report.mean_iou_present},
          {"mean_iou_all", report.mean_iou_all},
          {"pixel_accuracy", report.pixel_accuracy},
          {"mean_accuracy", report.mean_accuracy},
          {"mean_dice", report.mean_dice},
          {"frequency_weighted_iou", report.frequency_weighted_iou},
          {"mean_precision", report.mean_precision},
          {"mean_recall", report.mean_accuracy},
          {"mean_f1", report.mean_dice}};
}

}  // namespace tessera
