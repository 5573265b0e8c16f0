#include "metric/class_counts.h"

#include <cmath>
#include <limits>

#include "core/error.h"

namespace tessera {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

}  // namespace

double share_of(int64_t part, int64_t whole) {
  return whole == 0 ? kNone : static_cast<double>(part) / static_cast<double>(whole);
}

double ClassCounts::iou() const {
  return share_of(tp, tp + fp + fn);
}

double ClassCounts::precision() const {
  return share_of(tp, predicted());
}

double ClassCounts::recall() const {
  return share_of(tp, labelled());
}

double ClassCounts::f1() const {
  return share_of(2 * tp, 2 * tp + fp + fn);
}

ClassCounts& ClassCounts::operator+=(const ClassCounts& other) {
  tp += other.tp;
  fp += other.fp;
  fn += other.fn;
  tn += other.tn;
  return *this;
}

std::vector<ClassCounts> class_counts(std::span<const int64_t> confusion, int num_classes) {
  const auto n = static_cast<size_t>(num_classes);
  TSR_CHECK(num_classes > 0 && confusion.size() == n * n, "expected a confusion matrix of {0} x {0} counts, got {1} counts",
            num_classes, confusion.size());
  std::vector<ClassCounts> classes(n);
  int64_t total = 0;
  for (size_t label = 0; label < n; ++label) {
    for (size_t prediction = 0; prediction < n; ++prediction) {
      const int64_t pixels = confusion[label * n + prediction];
      total += pixels;
      if (label == prediction) {
        classes[label].tp += pixels;
      } else {
        classes[label].fn += pixels;
        classes[prediction].fp += pixels;
      }
    }
  }
  for (ClassCounts& c : classes) c.tn = total - c.tp - c.fp - c.fn;
  return classes;
}

double mean_of_numbers(std::span<const double> values) {
  double sum = 0;
  int64_t count = 0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    sum += value;
    ++count;
  }
  return count == 0 ? kNone : sum / static_cast<double>(count);
}

}  // namespace tessera
