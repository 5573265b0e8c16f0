#include "data/transforms/random_crop.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace tessera {

bool RandomCrop::is_varied(const Canvas& canvas, int top, int left) const {
  const std::vector<int64_t> counts = canvas.count_classes(top, left, config_.size);
  const auto seen = std::count_if(counts.begin(), counts.end(), [](int64_t n) { return n > 0; });
  if (seen < 2) return false;
  const int64_t largest = *std::max_element(counts.begin(), counts.end());
  const int64_t labelled = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  return static_cast<double>(largest) < config_.max_class_share * static_cast<double>(labelled);
}

void RandomCrop::move(Canvas& canvas, Rng rng) const {
  const Size have = canvas.size();
  canvas.take_window(0, 0, {std::max(have.height, config_.size.height), std::max(have.width, config_.size.width)}, fill_);
  const auto places_y = static_cast<uint32_t>(canvas.size().height - config_.size.height + 1);
  const auto places_x = static_cast<uint32_t>(canvas.size().width - config_.size.width + 1);
  const bool any_will_do = config_.max_class_share >= 1.0 || !canvas.labelled();
  int top = 0, left = 0;
  for (int64_t draw = 0; draw <= config_.retries; ++draw) {
    top = static_cast<int>(rng.below(places_y));
    left = static_cast<int>(rng.below(places_x));
    if (any_will_do || is_varied(canvas, top, left)) break;
  }
  canvas.take_window(top, left, config_.size, {});
}

}  // namespace tessera
