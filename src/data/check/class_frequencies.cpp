#include "data/check/class_frequencies.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <numeric>
#include <thread>

#include "core/class_bits.h"
#include "core/error.h"
#include "core/image.h"
#include "core/signals.h"
#include "data/decode/stored_labels.h"

namespace tessera {
namespace {

struct ImageCounts {
  std::vector<int64_t> pixels;
  int64_t labelled = 0;

  void add(int16_t label, int64_t count, bool multi_label) {
    if (label < 0) return;
    labelled += count;
    if (!multi_label) pixels.at(static_cast<size_t>(label)) += count;
    for (size_t c = 0; multi_label && c < pixels.size(); ++c) pixels[c] += has_class(label, static_cast<int>(c)) ? count : 0;
  }
};

ImageCounts counts_of(const Dataset& dataset, int64_t index) {
  const ClassTable& classes = dataset.classes();
  ImageCounts counts{std::vector<int64_t>(static_cast<size_t>(classes.size())), 0};
  const auto add_all = [&](const auto* values, size_t size, const auto& label_of) {
    for (size_t i = 0; i < size;) {
      const size_t run = run_length(values + i, size - i);
      counts.add(label_of(values[i]), static_cast<int64_t>(run), classes.multi_label);
      i += run;
    }
  };
  const auto same = [](int16_t label) { return label; };
  const std::optional<SampleCoding> coding = dataset.coding();
  if (coding && coding->labelled) {
    if (const std::optional<EncodedSample> stored = dataset.encoded(index)) {
      try {
        const StoredLabels labels = decode_stored_labels(stored->labels.bytes, *coding->rules, classes.size(),
                                                         coding->options->exif_orientation, coding->options->max_pixels);
        with_stored(labels, [&](const auto* values, const auto& label_of) {
          add_all(values, static_cast<size_t>(labels.height) * static_cast<size_t>(labels.width), label_of);
        });
        return counts;
      } catch (const Error& error) {
        throw BadSample(stored->id, error.what());
      }
    }
  }
  const Sample sample = dataset.get(index);
  if (sample.labels) add_all(sample.labels->labels.data(), sample.labels->labels.size(), same);
  return counts;
}

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

void ClassFrequencies::add(const ClassFrequencies& others) {
  labelled += others.labelled;
  unusable += others.unusable;
  for (size_t k = 0; k < pixels.size(); ++k) {
    pixels[k] += others.pixels[k];
    images[k] += others.images[k];
    labelled_where_seen[k] += others.labelled_where_seen[k];
  }
}

ClassFrequencies count_frequencies(const Dataset& dataset, int threads) {
  ClassFrequencies all(dataset.classes().size());
  std::atomic<int64_t> next = 0;
  std::mutex mutex;  // guards all and failure
  std::exception_ptr failure;
  const auto work = [&] {
    ClassFrequencies own(dataset.classes().size());
    try {
      for (int64_t i = next++; i < dataset.size() && stop_signal() == 0; i = next++) {
        try {
          const ImageCounts counts = counts_of(dataset, i);
          own.add(counts.pixels, counts.labelled);
        } catch (const BadSample&) {
          ++own.unusable;
        }
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = dataset.size();  // the others stop after their current sample
    }
    const std::lock_guard lock(mutex);
    all.add(own);  // whole numbers: in which order changes nothing
  };
  std::vector<std::jthread> pool;
  for (int k = 0; k < std::max(1, threads); ++k) pool.emplace_back(work);
  pool.clear();  // joins
  if (failure) std::rethrow_exception(failure);
  TSR_CHECK(stop_signal() == 0, "stopped before the labels of all samples were counted");
  return all;
}

std::vector<double> weights_by(const WeightMethod& method, const ClassFrequencies& counts) {
  return std::visit([&](const auto& one) { return weights_of(one, counts); }, method);
}

}  // namespace tessera
