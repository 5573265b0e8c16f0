#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "metric/class_counts.h"

namespace tessera {

// One class of an IouReport. NaN where the question has no answer, see ClassCounts.
struct ClassScore {
  int64_t pixels = 0;  // labelled with this class
  double iou = 0;
  double accuracy = 0;  // share of the labelled pixels found: recall
  double dice = 0;      // F1
  double precision = 0;
};

// What the counts of pixels say. All values are shares in 0..1; NaN when no pixel was counted. Means are over the classes whose
// value is a number.
struct IouReport {
  double pixel_accuracy = 0;
  double mean_accuracy = 0;           // over classes that have labels
  double mean_iou_present = 0;        // absent classes are skipped; the field's usual mIoU
  double mean_iou_all = 0;            // absent classes count as 0
  double mean_dice = 0;               // absent classes are skipped
  double mean_precision = 0;          // over classes that are predicted
  double frequency_weighted_iou = 0;  // IoU weighted by labelled pixels
  std::vector<ClassScore> classes;
};

// Of classes that share out the pixels: pixel_accuracy is the share of labels that are found.
IouReport make_iou_report(std::span<const ClassCounts> classes);

// counts: num_classes x num_classes, row = label, column = prediction.
IouReport make_iou_report(std::span<const int64_t> counts, int num_classes);

// The summary under the names used in logs: mean_iou, mean_iou_all, pixel_accuracy, mean_accuracy, mean_dice,
// frequency_weighted_iou, mean_precision, mean_recall, mean_f1. Some go by two names, as each field looks for its own:
// mean_recall is mean_accuracy, mean_f1 is mean_dice.
std::vector<std::pair<std::string, double>> named_values(const IouReport& report);

}  // namespace tessera
