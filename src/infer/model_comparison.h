#pragma once
#include <string>
#include <vector>

#include "infer/image_scores.h"
#include "metric/resampling.h"

namespace tessera {

// One of the models of a comparison: every metric of counted_metric_names over the images that all have in common.
struct ComparedModel {
  std::string name;
  std::vector<double> values;
  std::vector<Interval> intervals;
  // Beside the first model; empty for that one.
  std::vector<PairedDifference> differences = {};
  std::vector<double> p = {};  // of the differences; those of a class are adjusted for the number of classes (holm_adjusted)
};

// How an image went with each of the models.
struct ComparedImage {
  std::vector<int64_t> index;  // its number in each model's data
  std::string id;
  std::vector<double> mean_iou;
  double spread() const;  // the largest less the smallest
};

struct ModelComparison {
  std::vector<std::string> classes;
  std::vector<std::string> metrics;
  std::vector<ComparedModel> models;
  std::vector<ComparedImage> images;  // those that differ most first
  int64_t left_out = 0;               // images that not all models were measured on
  double confidence = 0;
};

// A model's name and what was counted of it.
struct NamedImages {
  std::string name;
  EvaluatedImages evaluated;
};

// At least two models, of the same classes. Images are the same where their ids are. Throws UsageError for models that have no
// image in common, or other classes.
ModelComparison compare_models(const std::vector<NamedImages>& models, const Resampling& how);

// The level below which a difference is called one.
inline constexpr double kSignificant = 0.05;

// "better", "worse", or "not told apart": a difference whose p is above kSignificant.
std::string verdict(double difference, double p);

}  // namespace tessera
