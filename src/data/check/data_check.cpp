#include "data/check/data_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "data/check/class_frequencies.h"

namespace tessera {
namespace {

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
  const int num_classes = survey.data->classes().size();
  DataReport report;
  report.checked = std::ssize(survey.samples);
  report.histogram = survey.histogram;
  ClassFrequencies counts(num_classes);
  for (size_t i = 0; i < survey.samples.size(); ++i) {
    const SampleFacts& facts = survey.samples[i];
    if (!facts.usable()) {
      report.faults.push_back({survey.data->id(static_cast<int64_t>(i)), facts.reason});
      continue;
    }
    ++report.sizes[fmt::format("{} x {}", facts.size.height, facts.size.width)];
    report.ignored_pixels += facts.pixels() - facts.labelled;
    std::vector<int64_t> pixels(static_cast<size_t>(num_classes));
    for (const auto& [label, count] : facts.classes) pixels[static_cast<size_t>(label)] = count;
    counts.add(pixels, facts.labelled);
  }
  average_pixels(survey.samples, report);
  report.suggested_class_weights = weights_by(MedianFrequency{}, counts);
  report.labelled_pixels = counts.labelled;
  report.pixels_per_class = std::move(counts.pixels);
  report.images_per_class = std::move(counts.images);
  return report;
}

}  // namespace tessera
