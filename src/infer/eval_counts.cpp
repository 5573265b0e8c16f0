#include "infer/eval_counts.h"

#include <algorithm>

#include "core/class_bits.h"
#include "core/error.h"
#include "core/name_list.h"
#include "core/suggest.h"
#include "infer/pictures.h"
#include "metric/boundary_counts.h"
#include "metric/multi_label_counts.h"

namespace tessera {
namespace {

constexpr const char* kBackground = "background";

std::vector<bool> object_classes(const std::vector<std::string>& wanted, const ClassTable& classes) {
  std::vector<bool> counted;
  for (const std::string& name : classes.names) {
    counted.push_back(wanted.empty() ? name != kBackground : std::find(wanted.begin(), wanted.end(), name) != wanted.end());
  }
  for (const std::string& name : wanted) {
    if (std::find(classes.names.begin(), classes.names.end(), name) == classes.names.end())
      fail_usage("eval.objects.classes has '{}'{}; the classes are {}", name, did_you_mean(name, classes.names),
                 name_list(classes.names));
  }
  return counted;
}

template <class Counts>
void add_each(std::vector<Counts>& sum, const std::vector<Counts>& more) {
  for (size_t c = 0; c < sum.size(); ++c) sum[c] += more[c];
}

}  // namespace

Counting counting_of(const EvalConfig& config, const ClassTable& classes) {
  const auto wants = [&](ExtraMetric metric) {
    return std::find(config.metrics.begin(), config.metrics.end(), metric) != config.metrics.end();
  };
  Counting counting{.num_classes = classes.size(), .multi_label = classes.multi_label};
  if (wants(ExtraMetric::kBoundary)) counting.boundary_ratio = config.boundary.ratio;
  if (wants(ExtraMetric::kObjects)) counting.object_classes = object_classes(config.objects.classes, classes);
  return counting;
}

EvalCounts::EvalCounts(Counting counting)
    : counting_(std::move(counting)),
      pixels_(counting_.num_classes),
      overlapping_(counting_.multi_label ? static_cast<size_t>(counting_.num_classes) : 0),
      boundaries_(counting_.boundary_ratio ? static_cast<size_t>(counting_.num_classes) : 0),
      objects_(counting_.object_classes.size()) {}

void EvalCounts::add(const at::Tensor& labels, const at::Tensor& predicted) {
  if (counting_.multi_label) return add_overlapping(labels, predicted);
  pixels_.add(labels, predicted);
  if (boundaries_.empty() && objects_.empty()) return;
  const LabelMap truth = to_label_map(labels), found = to_label_map(predicted);
  if (counting_.boundary_ratio)
    add_each(boundaries_, count_boundaries(truth, found, counting_.num_classes, *counting_.boundary_ratio));
  if (!objects_.empty()) add_each(objects_, count_objects(truth, found, counting_.object_classes));
}

// Boundaries and objects are those of each class alone, as if it were the second of two.
void EvalCounts::add_overlapping(const at::Tensor& labels, const at::Tensor& predicted) {
  add_each(overlapping_, count_multi_label(labels, predicted, counting_.num_classes));
  if (boundaries_.empty() && objects_.empty()) return;
  const LabelMap truth = to_label_map(labels), found = to_label_map(predicted);
  for (int c = 0; c < counting_.num_classes; ++c) {
    const auto at = static_cast<size_t>(c);
    const LabelMap own = class_plane(truth, c), guess = class_plane(found, c);
    if (counting_.boundary_ratio) boundaries_[at] += count_boundaries(own, guess, 2, *counting_.boundary_ratio)[1];
    if (!objects_.empty() && counting_.object_classes[at]) objects_[at] += count_objects(own, guess, {false, true})[1];
  }
}

void EvalCounts::add(const EvalCounts& other) {
  add_each(overlapping_, other.overlapping_);
  pixels_.add_counts(other.pixels_.counts());
  add_each(boundaries_, other.boundaries_);
  add_each(objects_, other.objects_);
}

IouReport EvalCounts::report() const {
  return counting_.multi_label ? make_multi_label_report(overlapping_) : pixels_.report();
}

ImageCounts EvalCounts::by_class() const {
  if (counting_.multi_label) return image_counts(overlapping_, /*overlap=*/true);
  const at::Tensor counts = pixels_.counts();
  const std::span<const int64_t> confusion(counts.const_data_ptr<int64_t>(), static_cast<size_t>(counts.numel()));
  return image_counts(class_counts(confusion, counting_.num_classes), /*overlap=*/false);
}

EvalResult EvalCounts::result() const {
  EvalResult result;
  const at::Tensor counts = pixels_.counts();
  if (!counting_.multi_label)
    result.confusion.assign(counts.const_data_ptr<int64_t>(), counts.const_data_ptr<int64_t>() + counts.numel());
  result.overlapping = overlapping_;
  result.report = report();
  result.boundaries = boundaries_;
  result.objects = objects_;
  result.object_classes = counting_.object_classes;
  return result;
}

}  // namespace tessera
