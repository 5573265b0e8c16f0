#include "data/check/class_frequencies.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tessera {
namespace {

double ratio(int64_t a, int64_t b) {
  return static_cast<double>(a) / static_cast<double>(b);
}

std::vector<double> weights_of(const MedianFrequency&, const ClassFrequencies& counts) {
  std::vector<double> frequencies;
  for (size_t k = 0; k < counts.pixels.size(); ++k) {
    if (counts.pixels[k] > 0) frequencies.push_back(ratio(counts.pixels[k], counts.labelled_where_seen[k]));
  }
  std::vector<double> weights(counts.pixels.size(), 1.0);
  if (frequencies.empty()) return weights;
  std::vector<double> sorted = frequencies;
  std::sort(sorted.begin(), sorted.end());
  const double median = (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
  for (size_t k = 0, seen = 0; k < weights.size(); ++k) {
    if (counts.pixels[k] > 0) weights[k] = median / frequencies[seen++];
  }
  return weights;
}

std::vector<double> weights_of(const InverseFrequency&, const ClassFrequencies& counts) {
  const auto occur = std::count_if(counts.pixels.begin(), counts.pixels.end(), [](int64_t pixels) { return pixels > 0; });
  const int64_t all = std::accumulate(counts.pixels.begin(), counts.pixels.end(), int64_t{0});
  std::vector<double> weights(counts.pixels.size(), 1.0);
  for (size_t k = 0; k < weights.size(); ++k) {
    if (counts.pixels[k] > 0) weights[k] = ratio(all, occur * counts.pixels[k]);
  }
  return weights;
}

std::vector<double> weights_of(const EffectiveNumber& method, const ClassFrequencies& counts) {
  std::vector<double> weights(counts.pixels.size(), 1.0);
  double sum = 0;
  int64_t occur = 0;
  for (size_t k = 0; k < weights.size(); ++k) {
    if (counts.images[k] == 0) continue;
    weights[k] = (1 - method.beta) / (1 - std::pow(method.beta, static_cast<double>(counts.images[k])));
    sum += weights[k];
    ++occur;
  }
  for (size_t k = 0; k < weights.size(); ++k) {
    if (counts.images[k] > 0) weights[k] *= static_cast<double>(occur) / sum;
  }
  return weights;
}

}  // namespace

ClassFrequencies::ClassFrequencies(int num_classes) {
  for (auto* counts : {&pixels, &images, &labelled_where_seen}) counts->resize(static_cast<size_t>(num_classes));
}

void ClassFrequencies::add(const std::vector<int64_t>& pixels_of_image, int64_t labelled_of_image) {
  labelled += labelled_of_image;
  for (size_t k = 0; k < pixels_of_image.size(); ++k) {
    if (pixels_of_image[k] == 0) continue;
    pixels[k] += pixels_of_image[k];
    ++images[k];
    labelled_where_seen[k] += labelled_of_image;
  }
}

ClassFrequencies frequencies_of(const std::vector<SampleClasses>& samples, int num_classes) {
  ClassFrequencies all(num_classes);
  for (const SampleClasses& sample : samples) {
    if (!sample.usable) {
      ++all.unusable;
      continue;
    }
    std::vector<int64_t> pixels(all.pixels.size());
    for (const auto& [label, count] : sample.pixels) pixels[static_cast<size_t>(label)] = count;
    all.add(pixels, sample.labelled);
  }
  return all;
}

std::vector<double> weights_by(const WeightMethod& method, const ClassFrequencies& counts) {
  return std::visit([&](const auto& one) { return weights_of(one, counts); }, method);
}

}  // namespace tessera
