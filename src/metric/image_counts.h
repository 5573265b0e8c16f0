#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "metric/class_counts.h"

namespace tessera {

// What was counted in one image, of the classes that it shows or that were predicted in it; where classes overlap, of all. So
// any set of images can be added up again.
using ImageCounts = std::vector<std::pair<int, ClassCounts>>;  // by class, ascending

ImageCounts image_counts(std::span<const ClassCounts> classes, bool overlap);

// The metrics that follow from such counts, in one order: means over classes, as named_values has them under their first
// names, then iou, precision and recall of each class.
std::vector<std::string> counted_metric_names(const std::vector<std::string>& classes);
std::vector<double> counted_metrics(std::span<const ClassCounts> classes, bool overlap);

}  // namespace tessera
