#include "metric/confusion_matrix.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/image.h"

namespace tessera {
namespace {

void check_range(const at::Tensor& classes, const char* what, int64_t lowest, int num_classes) {
  // Reading the numbers would make a GPU wait; there the kernel's own bounds check reports it.
  if (!classes.is_cpu() || classes.numel() == 0) return;
  const auto [low, high] = at::aminmax(classes);
  const auto smallest = low.item<int64_t>();
  const auto largest = high.item<int64_t>();
  TSR_CHECK(smallest >= lowest && largest < num_classes,
            "expected {} in {}..{}, got values {}..{}; check the number of classes and the label mapping", what, lowest,
            num_classes - 1, smallest, largest);
}

// One pass over the pixels, where the tensor operations below take six. False: some were out of range, and are not counted.
bool count_pairs(const at::Tensor& labels, const at::Tensor& predictions, int64_t num_classes, int64_t* bins) {
  const at::Tensor label_list = labels.to(at::kShort).contiguous(), class_list = predictions.to(at::kShort).contiguous();
  const auto* label = label_list.const_data_ptr<int16_t>();
  const auto* predicted = class_list.const_data_ptr<int16_t>();
  const auto classes = static_cast<unsigned>(num_classes);
  bool good = true;
  for (int64_t i = 0, pixels = labels.numel(); i < pixels; ++i) {
    // Numbers below zero are large ones here.
    const auto row = static_cast<unsigned>(label[i]), column = static_cast<unsigned>(predicted[i]);
    if (row < classes && column < classes) {
      ++bins[row * classes + column];
    } else {
      good = good && label[i] == kIgnoreLabel && column < classes;
    }
  }
  return good;
}

}  // namespace

ConfusionMatrix::ConfusionMatrix(int num_classes, at::Device device) : num_classes_(num_classes) {
  TSR_CHECK(num_classes > 0, "expected at least 1 class, got {}", num_classes);
  const int64_t cells = static_cast<int64_t>(num_classes) * num_classes;
  bins_ = at::zeros({cells + 1}, at::TensorOptions().dtype(at::kLong).device(device));
}

void ConfusionMatrix::add(const at::Tensor& labels, const at::Tensor& predictions) {
  TSR_CHECK(labels.sizes() == predictions.sizes(), "expected labels and predictions of one shape, got {} and {}",
            fmt::join(labels.sizes(), " x "), fmt::join(predictions.sizes(), " x "));
  const auto check_ranges = [&] {
    check_range(labels, "labels", kIgnoreLabel, num_classes_);
    check_range(predictions, "predictions", 0, num_classes_);
  };
  const bool in_one_pass = labels.is_cpu() && num_classes_ <= INT16_MAX;
  const bool short_numbers = labels.scalar_type() == at::kShort && predictions.scalar_type() == at::kShort;
  if (!in_one_pass || !short_numbers) check_ranges();  // before long ones are made short
  if (in_one_pass) {
    if (!count_pairs(labels, predictions, num_classes_, bins_.mutable_data_ptr<int64_t>())) check_ranges();
    return;
  }
  // Ignored pixels go to the spare last bin: selecting the others would need their number, hence a wait for the device.
  const int64_t spare = bins_.numel() - 1;
  const at::Tensor label = labels.to(at::kLong);
  const at::Tensor bin = (label * num_classes_ + predictions).masked_fill_(label.eq(kIgnoreLabel), spare).flatten();
  bins_.index_add_(0, bin, at::ones({1}, bins_.options()).expand(bin.sizes()));
}

void ConfusionMatrix::add_counts(const at::Tensor& counts) {
  TSR_CHECK(counts.dim() == 2 && counts.size(0) == num_classes_ && counts.size(1) == num_classes_,
            "expected counts of {0} x {0} classes, got {1}", num_classes_, fmt::join(counts.sizes(), " x "));
  bins_.narrow(0, 0, counts.numel()).view({num_classes_, num_classes_}).add_(counts.to(bins_.device()));
}

at::Tensor ConfusionMatrix::counts() const {
  return bins_.narrow(0, 0, bins_.numel() - 1).view({num_classes_, num_classes_}).clone();
}

void ConfusionMatrix::reset() {
  bins_.zero_();
}

IouReport ConfusionMatrix::report() const {
  const at::Tensor host = counts().cpu();
  return make_iou_report({host.const_data_ptr<int64_t>(), static_cast<size_t>(host.numel())}, num_classes_);
}

}  // namespace tessera
