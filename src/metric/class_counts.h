#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace tessera {

// How often one class was found, against everything else: pixels, pixels of boundaries, objects. Counts add up over images and
// ranks; what is asked of them is divided once, at the end.
struct ClassCounts {
  int64_t tp = 0;  // of the class, and predicted so
  int64_t fp = 0;  // predicted, but not of the class
  int64_t fn = 0;  // of the class, but not predicted
  int64_t tn = 0;  // neither; 0 where that cannot be counted

  int64_t labelled() const { return tp + fn; }
  int64_t predicted() const { return tp + fp; }
  bool absent() const { return tp + fp + fn == 0; }  // neither labelled nor predicted

  // Shares in 0..1; NaN where there is nothing to divide by, that is for an absent class, for the precision of a class that is
  // never predicted and for the recall of one that is never labelled.
  double iou() const;        // tp / (tp + fp + fn)
  double precision() const;  // tp / (tp + fp)
  double recall() const;     // tp / (tp + fn), the accuracy of the class
  double f1() const;         // 2 tp / (2 tp + fp + fn), the Dice coefficient

  ClassCounts& operator+=(const ClassCounts& other);
  friend bool operator==(const ClassCounts&, const ClassCounts&) = default;
};

// Each class of a confusion matrix against all others. confusion: num_classes x num_classes, row = label, column = prediction.
std::vector<ClassCounts> class_counts(std::span<const int64_t> confusion, int num_classes);

// Part of a whole; NaN for a whole of 0.
double share_of(int64_t part, int64_t whole);

// The mean of the values that are numbers; NaN where none is. So a class that cannot be measured is skipped.
double mean_of_numbers(std::span<const double> values);

}  // namespace tessera
