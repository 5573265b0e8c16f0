#pragma once
#include <ATen/core/Tensor.h>

#include "metric/iou_report.h"

namespace tessera {

// Counts of (label, prediction) pairs over a data set. Exact for any batch size and any number of ranks: counts are int64 and
// are summed before anything is divided. Not thread-safe; one per evaluator.
class ConfusionMatrix {
 public:
  explicit ConfusionMatrix(int num_classes);

  // labels, predictions: integers of one shape, (N, H, W), on the CPU; pixels with label kIgnoreLabel are not counted. Throws
  // Error for a class out of range; what the matrix then holds is of no use.
  void add(const at::Tensor& labels, const at::Tensor& predictions);

  // Adds the counts of another matrix, e.g. of another rank.
  void add_counts(const at::Tensor& counts);

  at::Tensor counts() const;  // (C, C) int64, row = label, column = prediction; a copy

  IouReport report() const;
  int num_classes() const { return num_classes_; }

 private:
  int num_classes_;
  at::Tensor counts_;
};

}  // namespace tessera
