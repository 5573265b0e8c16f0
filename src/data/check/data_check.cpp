#include "data/check/data_check.h"

#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <unordered_map>

#include "core/class_bits.h"
#include "core/name_list.h"
#include "data/check/image_look.h"
#include "data/check/range_notes.h"

namespace tessera {
namespace {

constexpr size_t kNamesShown = 10;

// One sample's part of the report; kept per sample so that sums are formed in a fixed order.
struct Facts {
  std::optional<std::string> fault;
  Size size;
  std::string depth;
  uint64_t hash = 0;
  std::vector<double> sum, sum_of_squares;           // per channel, of values scaled to 0..1
  std::vector<std::pair<int16_t, int64_t>> classes;  // class, pixels
  int64_t labelled = 0;
};

template <class T>
void measure_pixels(const std::vector<T>& pixels, const Image& image, Facts& facts) {
  // Whole numbers while the values are bytes: exact, and fast.
  using Sum = std::conditional_t<std::is_same_v<T, uint8_t>, uint64_t, double>;
  const auto channels = static_cast<size_t>(image.channels);
  std::vector<Sum> sum(channels), squares(channels);
  for (size_t at = 0; at < pixels.size(); at += channels) {
    for (size_t c = 0; c < channels; ++c) {
      const Sum value = pixels[at + c];
      sum[c] += value;
      squares[c] += value * value;
    }
  }
  const double top = image.max_value;
  for (size_t c = 0; c < channels; ++c) {
    facts.sum.push_back(static_cast<double>(sum[c]) / top);
    facts.sum_of_squares.push_back(static_cast<double>(squares[c]) / (top * top));
  }
  facts.hash = XXH3_64bits_withSeed(pixels.data(), pixels.size() * sizeof(T), static_cast<XXH64_hash_t>(image.width));
}

Facts measure(const Sample& sample, const ClassTable& classes) {
  Facts facts;
  facts.size = sample.image.size();
  facts.depth = depth_of(sample.image);
  std::visit([&](const auto& pixels) { measure_pixels(pixels, sample.image, facts); }, sample.image.pixels);
  if (!sample.labels) return facts;
  std::vector<int64_t> counts(static_cast<size_t>(classes.size()));
  for (int16_t label : sample.labels->labels) {
    if (label < 0) continue;
    ++facts.labelled;
    if (!classes.multi_label) ++counts.at(static_cast<size_t>(label));
    for (int c = 0; classes.multi_label && c < classes.size(); ++c)
      counts[static_cast<size_t>(c)] += has_class(label, c) ? 1 : 0;
  }
  for (size_t k = 0; k < counts.size(); ++k) {
    if (counts[k] > 0) facts.classes.emplace_back(static_cast<int16_t>(k), counts[k]);
  }
  return facts;
}

std::vector<Facts> measure_all(const Dataset& dataset, int threads, const std::function<void(int64_t)>& progress) {
  std::vector<Facts> all(static_cast<size_t>(dataset.size()));
  std::atomic<int64_t> next = 0;
  std::mutex mutex;  // guards done, failure and the calls of progress
  int64_t done = 0;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      for (int64_t i = next++; i < dataset.size(); i = next++) {
        Facts& facts = all[i];
        try {
          facts = measure(dataset.get(i), dataset.classes());
        } catch (const BadSample& bad) {
          facts.fault = bad.reason();
        } catch (const std::bad_alloc&) {
          facts = {};
          facts.fault = "there is not enough memory to read it; leave it out, or lower data.max_pixels and data.threads";
        } catch (const std::exception& error) {
          facts = {};
          facts.fault = error.what();
        }
        const std::lock_guard lock(mutex);
        ++done;
        if (progress) progress(done);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = dataset.size();  // the others stop after their current sample
    }
  };
  std::vector<std::jthread> pool;
  for (int k = 0; k < std::max(1, threads); ++k) pool.emplace_back(work);
  pool.clear();  // joins
  if (failure) std::rethrow_exception(failure);
  return all;
}

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

void warn_about_classes(const Dataset& dataset, const std::vector<Facts>& all, DataReport& report) {
  std::vector<std::string> unseen;
  for (size_t k = 0; k < report.pixels_per_class.size(); ++k) {
    if (report.pixels_per_class[k] == 0) unseen.push_back(dataset.classes().names[k]);
  }
  const int64_t usable = report.checked - static_cast<int64_t>(report.faults.size());
  if (usable > 0 && !unseen.empty()) {
    report.warnings.push_back(
        fmt::format("{} of {} classes never occur: {}", unseen.size(), report.pixels_per_class.size(), name_list(unseen)));
  }
  const bool has_background = dataset.classes().size() > 0 && dataset.classes().names[0] == "background";
  int64_t empty = 0, unlabelled = 0;
  for (const Facts& facts : all) {
    if (facts.fault) continue;
    if (facts.classes.size() == 1 && facts.classes[0].first == 0) ++empty;
    if (facts.labelled == 0) ++unlabelled;
  }
  const auto percent = [&](int64_t n) { return 100.0 * static_cast<double>(n) / static_cast<double>(usable); };
  if (has_background && empty > 0) {
    report.warnings.push_back(fmt::format("{} of {} images ({:.1f} %) show background only", empty, usable, percent(empty)));
  }
  int64_t without = 0;
  for (const Facts& facts : all) without += !facts.fault && facts.labelled > 0 && facts.classes.empty() ? 1 : 0;
  if (without > 0) {  // of classes that overlap: others share out all labelled pixels
    report.warnings.push_back(fmt::format("{} of {} images ({:.1f} %) show no class", without, usable, percent(without)));
  }
  if (unlabelled > 0) {
    report.warnings.push_back(fmt::format("{} of {} images ({:.1f} %) have no labelled pixel and teach nothing", unlabelled,
                                          usable, percent(unlabelled)));
  }
}

// The loader stacks samples as they are stored and refuses a batch of several depths, which a random order brings about
// sooner or later.
void warn_about_depths(const Dataset& dataset, const std::vector<Facts>& all, DataReport& report) {
  std::vector<std::pair<std::string, std::string>> depths;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].fault) depths.emplace_back(all[i].depth, dataset.id(static_cast<int64_t>(i)));
  }
  if (const std::string several = several_depths(depths); !several.empty()) {
    report.warnings.push_back(fmt::format(
        "the images have different depths: {}; training will refuse to mix them in a batch: convert all to one depth",
        several));
  }
}

void warn_about_duplicates(DataReport& report) {
  std::unordered_map<uint64_t, const ImageMark*> first;
  size_t found = 0;
  for (const ImageMark& image : report.images) {
    const auto [place, is_new] = first.emplace(image.hash, &image);
    if (is_new || place->second->size != image.size) continue;
    if (++found <= kNamesShown) {
      report.warnings.push_back(fmt::format("{} and {} are the same image", place->second->id, image.id));
    }
  }
  if (found > kNamesShown) report.warnings.push_back(fmt::format("{} more duplicate images", found - kNamesShown));
}

void average_pixels(const std::vector<Facts>& all, DataReport& report) {
  std::vector<double> squares;
  double pixels = 0;
  for (const Facts& facts : all) {
    if (facts.fault) continue;
    report.mean.resize(std::max(report.mean.size(), facts.sum.size()));
    squares.resize(report.mean.size());
    for (size_t c = 0; c < facts.sum.size(); ++c) {
      report.mean[c] += facts.sum[c];
      squares[c] += facts.sum_of_squares[c];
    }
    pixels += static_cast<double>(facts.size.height) * facts.size.width;
  }
  for (size_t c = 0; c < report.mean.size(); ++c) {
    report.mean[c] /= pixels;
    report.std.push_back(std::sqrt(std::max(0.0, squares[c] / pixels - report.mean[c] * report.mean[c])));
  }
}

}  // namespace

DataReport check_dataset(const Dataset& dataset, int threads, const std::function<void(int64_t done)>& progress) {
  const std::vector<Facts> all = measure_all(dataset, threads, progress);
  const auto num_classes = static_cast<size_t>(dataset.classes().size());
  DataReport report;
  report.checked = dataset.size();
  report.pixels_per_class.resize(num_classes);
  report.images_per_class.resize(num_classes);
  std::vector<int64_t> labelled_where_seen(num_classes);
  for (size_t i = 0; i < all.size(); ++i) {
    const Facts& facts = all[i];
    if (facts.fault) {
      report.faults.push_back({dataset.id(static_cast<int64_t>(i)), *facts.fault});
      continue;
    }
    report.images.push_back({dataset.id(static_cast<int64_t>(i)), facts.size, facts.hash});
    ++report.sizes[fmt::format("{} x {}", facts.size.height, facts.size.width)];
    report.labelled_pixels += facts.labelled;
    report.ignored_pixels += int64_t{facts.size.height} * facts.size.width - facts.labelled;
    for (const auto& [label, pixels] : facts.classes) {
      const auto k = static_cast<size_t>(label);
      report.pixels_per_class[k] += pixels;
      ++report.images_per_class[k];
      labelled_where_seen[k] += facts.labelled;
    }
  }
  average_pixels(all, report);
  report.suggested_class_weights = median_frequency_weights(report.pixels_per_class, labelled_where_seen);
  if (dataset.origin().labelled) warn_about_classes(dataset, all, report);
  warn_about_depths(dataset, all, report);
  warn_about_duplicates(report);
  return report;
}

std::vector<std::pair<std::string, std::string>> shared_images(const DataReport& train, const DataReport& val) {
  std::unordered_map<uint64_t, const ImageMark*> known;
  for (const ImageMark& image : train.images) known.emplace(image.hash, &image);
  std::vector<std::pair<std::string, std::string>> shared;
  for (const ImageMark& image : val.images) {
    const auto place = known.find(image.hash);
    if (place != known.end() && place->second->size == image.size) shared.emplace_back(place->second->id, image.id);
  }
  return shared;
}

}  // namespace tessera
