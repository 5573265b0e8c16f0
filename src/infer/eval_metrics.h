#pragma once
#include <string>
#include <utility>
#include <vector>

#include "config/train_config.h"
#include "infer/eval_result.h"

namespace tessera {

// The metrics of an evaluation by name, as configs, logs, JSON and TensorBoard have them: docs/evaluation.md defines them.

// One metric of every class.
struct ClassMetric {
  std::string name;            // "iou"
  std::vector<double> values;  // by class; NaN where it cannot be measured
  bool of_objects = false;     // measured of EvalResult::object_classes alone
};

// All that was measured: iou, precision, recall, f1; boundary_iou; object_precision, object_recall, object_f1,
// segmentation_quality, panoptic_quality.
std::vector<ClassMetric> class_metrics(const EvalResult& result);

// Of all classes together: those of named_values, and the means mean_boundary_iou, mean_object_f1, ... where measured.
std::vector<std::pair<std::string, double>> mean_metrics(const EvalResult& result);

// Of each class: iou/NAME, precision/NAME, ...
std::vector<std::pair<std::string, double>> metrics_by_class(const ClassTable& classes, const EvalResult& result);

// A name of one of them as a config may write it, by its full name: boundary_iou stands for mean_boundary_iou, and dice and
// accuracy of a class are its f1 and recall. Throws UsageError, with the names there are, for one that this config will not
// measure.
std::string full_metric_name(const std::string& name, const EvalConfig& config, const ClassTable& classes);

// Of all classes together, under their full names, as an evaluation by this config has them whatever the classes are.
std::vector<std::string> mean_metric_names(const EvalConfig& config);

// By its full name; NaN where it could not be measured.
double metric_value(const std::string& name, const ClassTable& classes, const EvalResult& result);

// All names in a few lines, for help.
std::string metric_help();

}  // namespace tessera
