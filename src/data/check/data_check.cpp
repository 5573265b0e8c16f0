#include "data/check/data_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

// Frequency of a class = its pixels / labelled pixels of the images it occurs in; weight = median frequency / frequency
// (Eigen and Fergus, ICCV 2015).
std::vector<double> median_frequency_weights(const std::vector<int64_t>& pixels,
                                             const std::vector<int64_t>& labelled_where_seen) {
  std::vector<double> frequencies;
  for (size_t k = 0; k < pixels.size(); ++k) {
    if (pixels[k] > 0) frequencies.push_back(static_cast<double>(pixels[k]) / static_cast<double>(labelled_where_seen[k]));
  }
  std::vector<double> weights(pixels.size(), 1.0);
  if (frequencies.empty()) return weights;
  std::vector<double> sorted = frequencies;
  std::sort(sorted.begin(), sorted.end());
  const double median = (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
  for (size_t k = 0, seen = 0; k < pixels.size(); ++k) {
    if (pixels[k] > 0) weights[k] = median / frequencies[seen++];
  }
  return weights;
}

// In the order of the samples, so that sums do not depend on threads.
void average_pixels(const std::vector<SampleFacts>& all, DataReport& report) {
  std::vector<double> squares;
  double pixels = 0;
  for (const SampleFacts& facts : all) {
    if (!facts.usable()) continue;
    report.mean.resize(std::max(report.mean.size(), facts.sum.size()));
    squares.resize(report.mean.size());
    for (size_t c = 0; c < facts.sum.size(); ++c) {
      report.mean[c] += facts.sum[c];
      squares[c] += facts.sum_of_squares[c];
    }
    pixels += static_cast<double>(facts.pixels());
  }
  for (size_t c = 0; c < report.mean.size(); ++c) {
    report.mean[c] /= pixels;
    report.std.push_back(std::sqrt(std::max(0.0, squares[c] / pixels - report.mean[c] * report.mean[c])));
  }
}

}  // namespace

DataReport report_of(const Survey& survey) {
  const auto num_classes = static_cast<size_t>(survey.data->classes().size());
  DataReport report;
  report.checked = std::ssize(survey.samples);
  report.pixels_per_class.resize(num_classes);
  report.images_per_class.resize(num_classes);
  report.histogram = survey.histogram;
  std::vector<int64_t> labelled_where_seen(num_classes);
  for (size_t i = 0; i < survey.samples.size(); ++i) {
    const SampleFacts& facts = survey.samples[i];
    if (!facts.usable()) {
      report.faults.push_back({survey.data->id(static_cast<int64_t>(i)), facts.reason});
      continue;
    }
    ++report.sizes[fmt::format("{} x {}", facts.size.height, facts.size.width)];
    report.labelled_pixels += facts.labelled;
    report.ignored_pixels += facts.pixels() - facts.labelled;
    for (const auto& [label, pixels] : facts.classes) {
      const auto k = static_cast<size_t>(label);
      report.pixels_per_class[k] += pixels;
      ++report.images_per_class[k];
      labelled_where_seen[k] += facts.labelled;
    }
  }
  average_pixels(survey.samples, report);
  report.suggested_class_weights = median_frequency_weights(report.pixels_per_class, labelled_where_seen);
  return report;
}

}  // namespace tessera
