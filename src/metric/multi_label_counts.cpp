#include "metric/multi_label_counts.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include "core/class_bits.h"
#include "core/error.h"

namespace tessera {

std::vector<ClassCounts> count_multi_label(const at::Tensor& labels, const at::Tensor& predicted, int num_classes) {
  TSR_CHECK(labels.sizes() == predicted.sizes(), "expected labels and predictions of one shape, got {} and {}",
            fmt::join(labels.sizes(), " x "), fmt::join(predicted.sizes(), " x "));
  const at::Tensor label_list = labels.to(at::kShort).contiguous(), set_list = predicted.to(at::kShort).contiguous();
  const auto* label = label_list.const_data_ptr<int16_t>();
  const auto* found = set_list.const_data_ptr<int16_t>();
  const int limit = label_limit(num_classes, /*multi_label=*/true);
  std::vector<ClassCounts> counts(static_cast<size_t>(num_classes));
  int64_t labelled = 0;
  for (int64_t i = 0, pixels = labels.numel(); i < pixels; ++i) {
    TSR_CHECK(label[i] >= kIgnoreLabel && label[i] < limit && found[i] >= 0 && found[i] < limit,
              "expected sets of {} classes, below {}, got the label {} and the prediction {}", num_classes, limit, label[i],
              found[i]);
    if (label[i] == kIgnoreLabel) continue;
    ++labelled;
    const int hit = label[i] & found[i], extra = found[i] & ~label[i], missed = label[i] & ~found[i];
    for (size_t c = 0; c < counts.size(); ++c) {
      counts[c].tp += hit >> c & 1;
      counts[c].fp += extra >> c & 1;
      counts[c].fn += missed >> c & 1;
    }
  }
  for (ClassCounts& c : counts) c.tn = labelled - c.tp - c.fp - c.fn;
  return counts;
}

IouReport make_multi_label_report(std::span<const ClassCounts> classes) {
  IouReport report = make_iou_report(classes);
  int64_t right = 0, all = 0;
  for (const ClassCounts& c : classes) {
    right += c.tp + c.tn;
    all += c.tp + c.tn + c.fp + c.fn;
  }
  report.pixel_accuracy = share_of(right, all);
  return report;
}

}  // namespace tessera
