#include "metric/confusion_matrix.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <cassert>
#include <cstdint>

#include "core/error.h"
#include "core/image.h"

namespace tessera {
namespace {

void check_range(const at::Tensor& classes, const char* what, int64_t lowest, int num_classes) {
  if (classes.numel() == 0) return;
  const auto [low, high] = at::aminmax(classes);
  const auto smallest = low.item<int64_t>();
  const auto largest = high.item<int64_t>();
  TSR_CHECK(smallest >= lowest && largest < num_classes,
            "expected {} in {}..{}, got values {}..{}; check the number of classes and the label mapping", what, lowest,
            num_classes - 1, smallest, largest);
}

// Counts in one pass over the pixels. False: some were out of range, and are not counted.
bool count_pairs(const at::Tensor& labels, const at::Tensor& predictions, int64_t num_classes, int64_t* counts) {
  const at::Tensor label_list = labels.to(at::kShort).contiguous(), class_list = predictions.to(at::kShort).contiguous();
  const auto* label = label_list.const_data_ptr<int16_t>();
  const auto* predicted = class_list.const_data_ptr<int16_t>();
  const auto classes = static_cast<unsigned>(num_classes);
  bool good = true;
  for (int64_t i = 0, pixels = labels.numel(); i < pixels; ++i) {
    // Numbers below zero are large ones here.
    const auto row = static_cast<unsigned>(label[i]), column = static_cast<unsigned>(predicted[i]);
    if (row < classes && column < classes) {
      ++counts[row * classes + column];
    } else {
      good = good && label[i] == kIgnoreLabel && column < classes;
    }
  }
  return good;
}

}  // namespace

ConfusionMatrix::ConfusionMatrix(int num_classes) : num_classes_(num_classes) {
  TSR_CHECK(num_classes > 0 && num_classes <= INT16_MAX, "expected 1 to {} classes, got {}", INT16_MAX, num_classes);
  counts_ = at::zeros({num_classes, num_classes}, at::kLong);
}

void ConfusionMatrix::add(const at::Tensor& labels, const at::Tensor& predictions) {
  assert(labels.is_cpu() && predictions.is_cpu());
  TSR_CHECK(labels.sizes() == predictions.sizes(), "expected labels and predictions of one shape, got {} and {}",
            fmt::join(labels.sizes(), " x "), fmt::join(predictions.sizes(), " x "));
  const auto check_ranges = [&] {
    check_range(labels, "labels", kIgnoreLabel, num_classes_);
    check_range(predictions, "predictions", 0, num_classes_);
  };
  const bool short_numbers = labels.scalar_type() == at::kShort && predictions.scalar_type() == at::kShort;
  if (!short_numbers) check_ranges();  // before long ones are made short
  if (!count_pairs(labels, predictions, num_classes_, counts_.mutable_data_ptr<int64_t>())) check_ranges();
}

void ConfusionMatrix::add_counts(const at::Tensor& counts) {
  TSR_CHECK(counts.dim() == 2 && counts.size(0) == num_classes_ && counts.size(1) == num_classes_,
            "expected counts of {0} x {0} classes, got {1}", num_classes_, fmt::join(counts.sizes(), " x "));
  counts_.add_(counts.cpu());
}

at::Tensor ConfusionMatrix::counts() const {
  return counts_.clone();
}

IouReport ConfusionMatrix::report() const {
  return make_iou_report({counts_.const_data_ptr<int64_t>(), static_cast<size_t>(counts_.numel())}, num_classes_);
}

}  // namespace tessera
