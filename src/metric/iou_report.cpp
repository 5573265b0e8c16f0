#include "metric/iou_report.h"

#include <cmath>
#include <limits>

#include "core/error.h"

namespace tessera {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double ratio(int64_t part, int64_t whole) {
  return whole == 0 ? kNone : static_cast<double>(part) / static_cast<double>(whole);
}

double mean_of_numbers(const std::vector<ClassScore>& classes, double ClassScore::*field) {
  double sum = 0;
  int count = 0;
  for (const ClassScore& c : classes) {
    if (std::isnan(c.*field)) continue;
    sum += c.*field;
    ++count;
  }
  return count == 0 ? kNone : sum / count;
}

}  // namespace

IouReport make_iou_report(std::span<const int64_t> counts, int num_classes) {
  const auto n = static_cast<size_t>(num_classes);
  TSR_CHECK(num_classes > 0 && counts.size() == n * n, "expected a confusion matrix of {0} x {0} counts, got {1} counts",
            num_classes, counts.size());
  std::vector<int64_t> labelled(n, 0);
  std::vector<int64_t> predicted(n, 0);
  for (size_t label = 0; label < n; ++label) {
    for (size_t prediction = 0; prediction < n; ++prediction) {
      labelled[label] += counts[label * n + prediction];
      predicted[prediction] += counts[label * n + prediction];
    }
  }

  IouReport report;
  report.classes.resize(n);
  int64_t total = 0;
  int64_t correct = 0;
  double iou_sum = 0;
  double weighted_iou_sum = 0;
  for (size_t c = 0; c < n; ++c) {
    const int64_t hit = counts[c * n + c];
    const int64_t both = labelled[c] + predicted[c];
    report.classes[c] = {labelled[c], ratio(hit, both - hit), ratio(hit, labelled[c]), ratio(2 * hit, both)};
    total += labelled[c];
    correct += hit;
    if (both == 0) continue;
    iou_sum += report.classes[c].iou;
    weighted_iou_sum += static_cast<double>(labelled[c]) * report.classes[c].iou;
  }
  report.pixel_accuracy = ratio(correct, total);
  report.mean_accuracy = mean_of_numbers(report.classes, &ClassScore::accuracy);
  report.mean_iou_present = mean_of_numbers(report.classes, &ClassScore::iou);
  report.mean_iou_all = total == 0 ? kNone : iou_sum / num_classes;
  report.mean_dice = mean_of_numbers(report.classes, &ClassScore::dice);
  report.frequency_weighted_iou = total == 0 ? kNone : weighted_iou_sum / static_cast<double>(total);
  return report;
}

std::vector<std::pair<std::string, double>> named_values(const IouReport& report) {
  return {{"mean_iou", report.mean_iou_present},     {"mean_iou_all", report.mean_iou_all},
          {"pixel_accuracy", report.pixel_accuracy}, {"mean_accuracy", report.mean_accuracy},
          {"mean_dice", report.mean_dice},           {"frequency_weighted_iou", report.frequency_weighted_iou}};
}

}  // namespace tessera
