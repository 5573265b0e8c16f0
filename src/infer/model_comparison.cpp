#include "infer/model_comparison.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/error.h"
#include "core/name_list.h"

namespace tessera {
namespace {

using Found = std::map<std::string, const ImageScore*>;

// An id that comes again is that of another image: it gets its number.
Found by_id(const EvaluatedImages& evaluated) {
  Found found;
  for (const ImageScore& image : evaluated.images) {
    std::string id = image.id;
    for (int again = 2; found.contains(id); ++again) id = image.id + " (" + std::to_string(again) + ")";
    found[id] = &image;
  }
  return found;
}

void check_comparable(const std::vector<NamedImages>& models) {
  TSR_CHECK_USAGE(models.size() >= 2, "expected at least two models to compare, got {}", models.size());
  const NamedImages& first = models.front();
  for (const NamedImages& other : models) {
    TSR_CHECK_USAGE(other.evaluated.classes == first.evaluated.classes && other.evaluated.overlap == first.evaluated.overlap,
                    "{} and {} know other classes: {}; and {}. Only models of the same classes can be compared", first.name,
                    other.name, name_list(first.evaluated.classes), name_list(other.evaluated.classes));
  }
}

// The images of all models, in the order of their ids.
std::vector<ComparedImage> common_images(const std::vector<Found>& found) {
  std::vector<ComparedImage> images;
  for (const auto& entry : found.front()) {
    ComparedImage image{.index = {}, .id = entry.first, .mean_iou = {}};
    for (const Found& model : found) {
      const auto own = model.find(entry.first);
      if (own == model.end()) break;
      image.index.push_back(own->second->index);
      image.mean_iou.push_back(own->second->mean_iou);
    }
    if (image.index.size() == found.size()) images.push_back(std::move(image));
  }
  return images;
}

std::vector<ImageCounts> counts_of(const Found& model, const std::vector<ComparedImage>& images) {
  std::vector<ImageCounts> counts;
  for (const ComparedImage& image : images) counts.push_back(model.at(image.id)->counts);
  return counts;
}

std::vector<double> totals(const std::vector<ImageCounts>& images, const Resampling& how) {
  std::vector<ClassCounts> sum(static_cast<size_t>(how.num_classes));
  for (const ImageCounts& image : images) {
    for (const auto& [c, counts] : image) sum[static_cast<size_t>(c)] += counts;
  }
  return counted_metrics(sum, how.overlap);
}

// The part of a metric's name before the class; "" for means.
std::string question_of(const std::string& metric) {
  const size_t slash = metric.find('/');
  return slash == std::string::npos ? "" : metric.substr(0, slash);
}

// What was asked of each class was asked many times.
std::vector<double> adjusted_p(const std::vector<std::string>& metrics, const std::vector<PairedDifference>& differences) {
  std::map<std::string, std::vector<size_t>> questions;
  std::vector<double> p;
  for (size_t m = 0; m < metrics.size(); ++m) {
    p.push_back(differences[m].p);
    if (const std::string question = question_of(metrics[m]); !question.empty()) questions[question].push_back(m);
  }
  for (const auto& [question, members] : questions) {
    std::vector<double> own;
    for (const size_t m : members) own.push_back(p[m]);
    own = holm_adjusted(own);
    for (size_t i = 0; i < members.size(); ++i) p[members[i]] = own[i];
  }
  return p;
}

}  // namespace

double ComparedImage::spread() const {
  const auto [low, high] = std::minmax_element(mean_iou.begin(), mean_iou.end());
  return *high - *low;
}

ModelComparison compare_models(const std::vector<NamedImages>& models, const Resampling& asked) {
  check_comparable(models);
  Resampling how = asked;
  how.num_classes = static_cast<int>(models.front().evaluated.classes.size());
  how.overlap = models.front().evaluated.overlap;
  std::vector<Found> found;
  for (const NamedImages& model : models) found.push_back(by_id(model.evaluated));

  ModelComparison comparison{.classes = models.front().evaluated.classes,
                             .metrics = counted_metric_names(models.front().evaluated.classes),
                             .models = {},
                             .images = common_images(found),
                             .confidence = how.confidence};
  TSR_CHECK_USAGE(!comparison.images.empty(),
                  "{} and the others have no image in common (its first is {}): measure all of them on the same data with "
                  "`tessera eval --images FILE` and compare the files",
                  models.front().name, found.front().empty() ? "none" : found.front().begin()->first);
  for (const Found& model : found)
    comparison.left_out = std::max(comparison.left_out, std::ssize(model) - std::ssize(comparison.images));

  const std::vector<ImageCounts> first = counts_of(found.front(), comparison.images);
  for (size_t i = 0; i < models.size(); ++i) {
    const std::vector<ImageCounts> own = counts_of(found[i], comparison.images);
    ComparedModel model{.name = models[i].name, .values = totals(own, how), .intervals = metric_intervals(own, how)};
    if (i > 0) {
      model.differences = paired_differences(first, own, how);
      model.p = adjusted_p(comparison.metrics, model.differences);
    }
    comparison.models.push_back(std::move(model));
  }
  std::stable_sort(comparison.images.begin(), comparison.images.end(),
                   [](const ComparedImage& a, const ComparedImage& b) { return a.spread() > b.spread(); });
  return comparison;
}

std::string verdict(double difference, double p) {
  if (std::isnan(difference) || std::isnan(p)) return "";
  if (p > kSignificant) return "not told apart";
  return difference > 0 ? "better" : "worse";
}

}  // namespace tessera
