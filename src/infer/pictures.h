#pragma once
#include <vector>

#include "core/image.h"
#include "data/sample.h"
#include "infer/evaluator.h"

namespace tessera {

// Row-normalised confusion matrix, label downwards, prediction across, dark blue to yellow; at least 4 pixels a class.
Image draw_confusion(const std::vector<int64_t>& counts, int num_classes);

// Image, label and predictions side by side, at most `max_side` high.
Image draw_row(const Image& image, const LabelMap& labels, const std::vector<LabelMap>& predictions, const ClassTable& classes,
               int max_side);

// RGB pictures next to or above one another, on a neutral ground.
Image join_horizontally(const std::vector<Image>& pictures, int gap);
Image stack_vertically(const std::vector<Image>& pictures, int gap);

struct DrawnPrediction {
  std::string caption;
  double score = 0;
  Image picture;
};

// The `count` best or worst images of an evaluation, predicted again and drawn.
std::vector<DrawnPrediction> draw_extremes(const EvalResult& result, const Evaluator& evaluator, const Predictor& predictor,
                                           const ClassTable& classes, int64_t count, bool best, bool at_original);

LabelMap to_label_map(const at::Tensor& classes);  // (H, W) int16

}  // namespace tessera
