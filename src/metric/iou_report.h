#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessera {

// One class of an IouReport. NaN where the question has no answer: everything for a class found neither in the labels nor in
// the predictions ("absent"), accuracy also for a class that is predicted but never labelled.
struct ClassScore {
  int64_t pixels = 0;  // labelled with this class
  double iou = 0;
  double accuracy = 0;  // share of the labelled pixels found (recall)
  double dice = 0;
};

// What the confusion matrix says. All values are shares in 0..1; NaN when no pixel was counted.
struct IouReport {
  double pixel_accuracy = 0;
  double mean_accuracy = 0;           // over classes that have labels
  double mean_iou_present = 0;        // absent classes are skipped; the field's usual mIoU
  double mean_iou_all = 0;            // absent classes count as 0
  double mean_dice = 0;               // absent classes are skipped
  double frequency_weighted_iou = 0;  // IoU weighted by labelled pixels
  std::vector<ClassScore> classes;
};

// counts: num_classes x num_classes, row = label, column = prediction.
IouReport make_iou_report(std::span<const int64_t> counts, int num_classes);

// The summary under the names used in logs: mean_iou, mean_iou_all, pixel_accuracy, mean_accuracy, mean_dice,
// frequency_weighted_iou.
std::vector<std::pair<std::string, double>> named_values(const IouReport& report);

}  // namespace tessera
