#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/image.h"
#include "metric/image_counts.h"
#include "metric/iou_report.h"
#include "metric/object_counts.h"

namespace tessera {

// One evaluated image: how well it went, and enough to draw it again.
struct ImageScore {
  int64_t index = 0;
  std::string id;
  double mean_iou = 0;  // over the classes present in this image
  ImageCounts counts = {};
};

struct EvalResult {
  IouReport report;
  std::vector<int64_t> confusion;        // num_classes x num_classes, row = label; empty where classes overlap
  std::vector<ClassCounts> overlapping;  // where they do: pixels by class
  std::vector<ClassCounts> boundaries;   // pixels of boundaries by class; empty: not counted
  std::vector<ObjectCounts> objects;     // by class; empty: not counted
  std::vector<bool> object_classes;      // those whose objects were counted
  std::vector<ImageScore> images;        // in data-set order; images without a labelled pixel are left out
  int64_t num_images = 0;
  int64_t num_bad = 0;
  double seconds = 0;
  bool averaged = false;  // measured with the moving average of the weights
  // What was done because memory ran out and changes predictions a little; empty: nothing. See EvalLimits::windows.
  std::string windows_for_memory;
};

// The result as `tessera eval --json` prints it and log.jsonl keeps it: metrics, classes, the confusion matrix, numbers of
// images. Scores of single images are left out.
nlohmann::json eval_json(const ClassTable& classes, const EvalResult& result);

}  // namespace tessera
