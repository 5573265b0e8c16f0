#include "metric/boundary_counts.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace tessera {
namespace {

constexpr int16_t kMixed = kIgnoreLabel - 1;  // several classes in a stretch of a row

// uniform[x]: the class of the 2 * width + 1 pixels around x, kMixed where they are of several or go beyond the row.
void find_uniform(const int16_t* row, int width, std::vector<int16_t>& uniform) {
  std::fill(uniform.begin(), uniform.end(), kMixed);
  int run = 0;
  for (size_t x = 0; x < uniform.size(); ++x) {
    run = x > 0 && row[x] == row[x - 1] ? run + 1 : 1;
    if (run > 2 * width) uniform[x - static_cast<size_t>(width)] = row[x];
  }
}

LabelMap without_unlabelled(LabelMap predicted, const LabelMap& truth) {
  for (size_t i = 0; i < truth.labels.size(); ++i) {
    if (truth.labels[i] == kIgnoreLabel) predicted.labels[i] = kIgnoreLabel;
  }
  return predicted;
}

}  // namespace

int boundary_width(Size image, double ratio) {
  const double height = image.height, width = image.width;
  return std::max(1, static_cast<int>(std::nearbyint(ratio * std::sqrt(height * height + width * width))));
}

std::vector<uint8_t> boundary_pixels(const LabelMap& map, int width) {
  const auto columns = static_cast<size_t>(map.width);
  std::vector<uint8_t> boundary(map.labels.size(), 1);
  std::vector<int16_t> uniform(columns), above(columns, kMixed);
  std::vector<int> run(columns, 0);  // rows up to this one in which the stretch around a column is of one class
  for (int y = 0; y < map.height; ++y) {
    find_uniform(map.labels.data() + static_cast<size_t>(y) * columns, width, uniform);
    for (size_t x = 0; x < columns; ++x) {
      run[x] = uniform[x] == above[x] ? run[x] + 1 : 1;
      if (run[x] > 2 * width && uniform[x] != kMixed) boundary[static_cast<size_t>(y - width) * columns + x] = 0;
    }
    std::swap(uniform, above);
  }
  return boundary;
}

std::vector<ClassCounts> count_boundaries(const LabelMap& truth, const LabelMap& predicted, int num_classes, double ratio) {
  assert(truth.size() == predicted.size());
  const int width = boundary_width(truth.size(), ratio);
  const std::vector<uint8_t> of_truth = boundary_pixels(truth, width),
                             of_predicted = boundary_pixels(without_unlabelled(predicted, truth), width);
  std::vector<ClassCounts> counts(static_cast<size_t>(num_classes));
  for (size_t i = 0; i < truth.labels.size(); ++i) {
    if (truth.labels[i] == kIgnoreLabel) continue;
    const auto label = static_cast<size_t>(truth.labels[i]), found = static_cast<size_t>(predicted.labels[i]);
    assert(label < counts.size() && found < counts.size());
    if (label == found && of_truth[i] != 0 && of_predicted[i] != 0) {
      ++counts[label].tp;
      continue;
    }
    if (of_truth[i] != 0) ++counts[label].fn;
    if (of_predicted[i] != 0) ++counts[found].fp;
  }
  return counts;
}

}  // namespace tessera
