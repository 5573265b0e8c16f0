#include "data/check/data_fingerprint.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "core/class_bits.h"
#include "core/error.h"
#include "core/parallel_map.h"
#include "data/check/image_look.h"
#include "data/check/sample_choice.h"

namespace tessera {
namespace {

// Pixels of one label that touch.
struct Region {
  int label = 0;
  double area = 0;  // pixels
};

// What one sample adds.
struct Look {
  Size size;
  int channels = 0;
  std::string depth = {};
  std::vector<double> sum = {}, squares = {};  // per channel, of values scaled to 0..1
  double pixels = 0;
  double up = 0;                                             // brightness of the top half less that of the bottom
  std::vector<double> class_pixels = {}, class_height = {};  // and the mean height of its pixels, from 0 at the top to 1
  std::vector<Region> regions = {};
  double labelled = 0;
};

template <class T>
void measure_pixels(const T* values, const Image& image, Look& look) {
  const auto channels = static_cast<size_t>(image.channels);
  const double scale = 1.0 / image.max_value;
  look.sum.assign(channels, 0);
  look.squares.assign(channels, 0);
  double halves[2] = {0, 0};  // top, bottom
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      double all = 0;
      for (size_t c = 0; c < channels; ++c) {
        const double value = static_cast<double>(*values++) * scale;
        look.sum[c] += value;
        look.squares[c] += value * value;
        all += value;
      }
      halves[2 * y >= image.height ? 1 : 0] += all;
    }
  }
  look.pixels = static_cast<double>(image.height) * image.width;
  const double half = look.pixels * image.channels / 2;
  look.up = (halves[0] - halves[1]) / half;
}

// The regions of one label each, which touch at sides; of every n-th pixel where the map is large.
std::vector<Region> regions_of(const LabelMap& labels) {
  constexpr int kLongest = 512;
  const int step = std::max(1, std::max(labels.height, labels.width) / kLongest);
  const int height = labels.height / step, width = labels.width / step;
  const auto label_at = [&](int y, int x) { return labels.at(y * step, x * step); };
  std::vector<bool> seen(static_cast<size_t>(height) * static_cast<size_t>(width));
  const auto place = [&](int y, int x) { return static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x); };
  std::vector<Region> regions;
  std::vector<std::pair<int, int>> open;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const int16_t label = label_at(y, x);
      if (seen[place(y, x)] || label < 0) continue;
      open = {{y, x}};
      seen[place(y, x)] = true;
      double area = 0;
      while (!open.empty()) {
        const auto [row, column] = open.back();
        open.pop_back();
        ++area;
        constexpr int kSteps[4][2] = {{0, 1}, {0, -1}, {1, 0}, {-1, 0}};
        for (const auto& [down, right] : kSteps) {
          const int ny = row + down, nx = column + right;
          if (ny < 0 || nx < 0 || ny >= height || nx >= width || seen[place(ny, nx)] || label_at(ny, nx) != label) continue;
          seen[place(ny, nx)] = true;
          open.emplace_back(ny, nx);
        }
      }
      regions.push_back({label, area * step * step});
    }
  }
  return regions;
}

void measure_labels(const LabelMap& labels, const ClassTable& classes, Look& look) {
  const auto count = static_cast<size_t>(classes.size());
  look.class_pixels.assign(count, 0);
  look.class_height.assign(count, 0);
  for (int y = 0; y < labels.height; ++y) {
    const double height = (y + 0.5) / labels.height;
    for (int x = 0; x < labels.width; ++x) {
      const int16_t label = labels.at(y, x);
      if (label < 0) continue;
      ++look.labelled;
      for (size_t c = 0; c < count; ++c) {
        const bool is_there = classes.multi_label ? has_class(label, static_cast<int>(c)) : static_cast<size_t>(label) == c;
        look.class_pixels[c] += is_there ? 1 : 0;
        look.class_height[c] += is_there ? height : 0;
      }
    }
  }
  for (size_t c = 0; c < count; ++c) look.class_height[c] /= std::max(1.0, look.class_pixels[c]);
  look.regions = regions_of(labels);
}

std::optional<Look> look_at(const Dataset& dataset, int64_t index) {
  try {
    const Sample sample = dataset.get(index);
    const Image& image = sample.image;
    Look look{.size = image.size(), .channels = image.channels, .depth = depth_of(image)};
    if (image.is_bytes()) {
      measure_pixels(image.bytes().data(), image, look);
    } else {
      measure_pixels(image.floats().data(), image, look);
    }
    if (sample.labels) measure_labels(*sample.labels, dataset.classes(), look);
    return look;
  } catch (const BadSample&) {
    return std::nullopt;
  }
}

int middle(std::vector<int> values) {
  std::sort(values.begin(), values.end());
  return values.at(values.size() / 2);
}

struct Moments {
  double mean = 0, deviation = 0;
};
Moments moments_of(const std::vector<double>& values) {
  Moments found;
  for (const double value : values) found.mean += value / static_cast<double>(values.size());
  for (const double value : values) found.deviation += (value - found.mean) * (value - found.mean);
  found.deviation = values.size() > 1 ? std::sqrt(found.deviation / static_cast<double>(values.size() - 1)) : 0;
  return found;
}

// How many standard errors the mean is away from 0.
double errors_from_zero(const std::vector<double>& values) {
  constexpr size_t kFewest = 8;  // of fewer anything may come
  if (values.size() < kFewest) return 0;
  const Moments found = moments_of(values);
  return std::abs(found.mean) / std::max(1e-9, found.deviation / std::sqrt(static_cast<double>(values.size())));
}

// The surest of several tests, as if it had been the only one: of many, one is far from 0 by chance.
double surest(const std::vector<double>& errors) {
  const double most = *std::max_element(errors.begin(), errors.end());
  return std::sqrt(std::max(0.0, most * most - 2 * std::log(static_cast<double>(errors.size()))));
}

void add_sizes(const std::vector<Look>& looks, DataFingerprint& found) {
  std::vector<int> heights, widths;
  for (const Look& look : looks) {
    heights.push_back(look.size.height);
    widths.push_back(look.size.width);
  }
  found.smallest = {*std::min_element(heights.begin(), heights.end()), *std::min_element(widths.begin(), widths.end())};
  found.largest = {*std::max_element(heights.begin(), heights.end()), *std::max_element(widths.begin(), widths.end())};
  found.median = {middle(heights), middle(widths)};
}

// And how surely top and bottom differ in brightness.
double add_pixels(const std::vector<Look>& looks, DataFingerprint& found) {
  const auto channels = static_cast<size_t>(looks[0].channels);
  found.channels = looks[0].channels;
  found.depth = looks[0].depth;
  std::vector<double> sum(channels), squares(channels), means, within, up;
  double pixels = 0;
  for (const Look& look : looks) {
    if (look.depth != found.depth) found.depth = "mixed";
    double mean = 0, square = 0;
    for (size_t c = 0; c < std::min(channels, look.sum.size()); ++c) {
      sum[c] += look.sum[c];
      squares[c] += look.squares[c];
      mean += look.sum[c] / look.pixels / static_cast<double>(channels);
      square += look.squares[c] / look.pixels / static_cast<double>(channels);
    }
    pixels += look.pixels;
    means.push_back(mean);
    within.push_back(std::sqrt(std::max(0.0, square - mean * mean)));
    up.push_back(look.up);
  }
  for (size_t c = 0; c < channels; ++c) {
    found.mean.push_back(sum[c] / pixels);
    found.std.push_back(std::sqrt(std::max(0.0, squares[c] / pixels - found.mean[c] * found.mean[c])));
  }
  found.exposure_spread = moments_of(means).deviation / std::max(1e-6, moments_of(within).mean);
  return errors_from_zero(up);
}

// Half of the pixels of all regions belong to regions of at least this area.
double half_area(std::vector<double> areas) {
  std::sort(areas.begin(), areas.end());
  const double half = std::accumulate(areas.begin(), areas.end(), 0.0) / 2;
  double below = 0;
  for (const double area : areas) {
    below += area;
    if (below >= half) return area;
  }
  return 0;
}

// The label of what lies around the objects, whatever it is called; -1: everything is an object. Where classes overlap a label
// is a set of them, and the empty one is the ground.
int ground_label(const DataFingerprint& found) {
  if (found.multi_label || found.classes.at(0).name == "background") return 0;
  constexpr double kMost = 0.5, kNearlyAll = 0.9;
  for (size_t c = 0; c < found.classes.size(); ++c) {
    if (found.classes[c].pixels > kMost && found.classes[c].images > kNearlyAll) return static_cast<int>(c);
  }
  return -1;
}

// And how surely each class lies above or below the middle.
std::vector<double> add_labels(const std::vector<Look>& looks, const ClassTable& classes, DataFingerprint& found) {
  std::vector<double> uprights;
  found.multi_label = classes.multi_label;
  double labelled = 0;
  for (const Look& look : looks) labelled += look.labelled;
  for (size_t c = 0; c < static_cast<size_t>(classes.size()); ++c) {
    DataFingerprint::Class one{classes.names[c], 0, 0};
    std::vector<double> heights;
    for (const Look& look : looks) {
      if (look.class_pixels.empty() || look.class_pixels[c] == 0) continue;
      one.pixels += look.class_pixels[c] / std::max(1.0, labelled);
      one.images += 1.0 / static_cast<double>(looks.size());
      heights.push_back(look.class_height[c] - 0.5);
    }
    found.classes.push_back(std::move(one));
    uprights.push_back(errors_from_zero(heights));
  }
  const int ground = ground_label(found);
  std::vector<double> areas;
  for (const Look& look : looks) {
    for (const Region& region : look.regions) {
      if (region.label != ground) areas.push_back(region.area);
    }
  }
  found.object_size = std::sqrt(half_area(std::move(areas)));
  return uprights;
}

[[noreturn]] void fail_unreadable(const Dataset& dataset, const std::vector<int64_t>& chosen) {
  std::string first = "there are none";
  try {
    if (!chosen.empty()) dataset.get(chosen[0]);
  } catch (const BadSample& bad) {
    first = bad.what();
  }
  fail("none of {} training samples could be read; the first: {}; `tessera data check` shows all", chosen.size(), first);
}

}  // namespace

DataFingerprint fingerprint_of(const Dataset& dataset, int64_t count, uint64_t seed, int threads) {
  const std::vector<int64_t> chosen = choose_samples(dataset, count, seed);
  ParallelMap<std::optional<Look>> reading(std::ssize(chosen), threads, 2 * threads,
                                           [&](int64_t i) { return look_at(dataset, chosen[static_cast<size_t>(i)]); });
  std::vector<Look> looks;
  while (auto next = reading.next()) {
    if (*next) looks.push_back(std::move(**next));
  }
  if (looks.empty()) fail_unreadable(dataset, chosen);
  DataFingerprint found;
  found.samples = dataset.size();
  found.looked_at = std::ssize(looks);
  add_sizes(looks, found);
  const double by_brightness = add_pixels(looks, found);
  std::vector<double> uprights = add_labels(looks, dataset.classes(), found);
  uprights.push_back(by_brightness);
  found.upright = surest(uprights);
  return found;
}

}  // namespace tessera
