#include "data/transforms/random_crop.h"

#include <algorithm>
#include <vector>

#include "data/transforms/window.h"

namespace tessera {

bool RandomCrop::is_varied(const LabelMap& labels, int top, int left) const {
  std::vector<int64_t> counts;
  int64_t labelled = 0;
  for (int y = top; y < top + config_.size.height; ++y) {
    for (int x = left; x < left + config_.size.width; ++x) {
      const int16_t label = labels.at(y, x);
      if (label < 0) continue;
      const auto at = static_cast<size_t>(label);
      if (at >= counts.size()) counts.resize(at + 1);
      ++counts[at];
      ++labelled;
    }
  }
  const auto seen = std::count_if(counts.begin(), counts.end(), [](int64_t n) { return n > 0; });
  if (seen < 2) return false;
  const int64_t largest = *std::max_element(counts.begin(), counts.end());
  return static_cast<double>(largest) < config_.max_class_share * static_cast<double>(labelled);
}

void RandomCrop::apply(Sample& sample, Rng rng) const {
  const Size have = sample.image.size();
  take_window(sample, 0, 0, {std::max(have.height, config_.size.height), std::max(have.width, config_.size.width)}, fill_);
  const auto places_y = static_cast<uint32_t>(sample.image.height - config_.size.height + 1);
  const auto places_x = static_cast<uint32_t>(sample.image.width - config_.size.width + 1);
  const bool any_will_do = config_.max_class_share >= 1.0 || !sample.labels;
  int top = 0, left = 0;
  for (int64_t draw = 0; draw <= config_.retries; ++draw) {
    top = static_cast<int>(rng.below(places_y));
    left = static_cast<int>(rng.below(places_x));
    if (any_will_do || is_varied(*sample.labels, top, left)) break;
  }
  take_window(sample, top, left, config_.size);
}

}  // namespace tessera
