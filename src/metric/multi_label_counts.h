#pragma once
#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

#include "metric/iou_report.h"

namespace tessera {

// Pixels of each class, where classes overlap: every class is a question of its own at every labelled pixel. labels, predicted:
// integers of one shape on the CPU, as Note [Multi-label maps] has them; labels may be kIgnoreLabel. Throws Error for a class
// out of range.
std::vector<ClassCounts> count_multi_label(const at::Tensor& labels, const at::Tensor& predicted, int num_classes);

// As make_iou_report, but pixel_accuracy is the share of all answers, one for each pixel and class, that are right.
IouReport make_multi_label_report(std::span<const ClassCounts> classes);

}  // namespace tessera
