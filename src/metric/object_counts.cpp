#include "metric/object_counts.h"

#include <algorithm>
#include <cassert>
#include <unordered_map>

#include "core/components.h"

namespace tessera {
namespace {

constexpr int kIouBits = 32;

// How the regions of two maps of one size lie over one another.
struct Overlaps {
  struct Pair {
    int32_t truth = 0, predicted = 0;
    friend bool operator==(const Pair&, const Pair&) = default;
  };
  struct Hash {
    size_t operator()(const Pair& pair) const {
      return std::hash<uint64_t>()(static_cast<uint64_t>(pair.truth) << 32 | static_cast<uint32_t>(pair.predicted));
    }
  };
  std::unordered_map<Pair, int64_t, Hash> shared;  // pixels, of regions of one class
  std::vector<int64_t> labelled;                   // pixels of each predicted region that have a label
};

// Both lists of runs are in the order of pixels, so one pass over both meets every overlap.
Overlaps overlaps_of(const Components& truth, const Components& predicted) {
  Overlaps found{.shared = {}, .labelled = std::vector<int64_t>(predicted.regions.size(), 0)};
  auto a = truth.runs.begin(), b = predicted.runs.begin();
  while (a != truth.runs.end() && b != predicted.runs.end()) {
    const bool same_row = a->y == b->y;
    if (same_row) {
      const int pixels = std::min(a->end, b->end) - std::max(a->begin, b->begin);
      const auto object = static_cast<size_t>(a->region), guess = static_cast<size_t>(b->region);
      if (pixels > 0) found.labelled[guess] += pixels;
      if (pixels > 0 && truth.regions[object].label == predicted.regions[guess].label)
        found.shared[{a->region, b->region}] += pixels;
    }
    const bool a_ends_first = same_row ? a->end < b->end : a->y < b->y;
    ++(a_ends_first ? a : b);
  }
  return found;
}

}  // namespace

double ObjectCounts::segmentation_quality() const {
  return share_of(iou_sum, found.tp << kIouBits);
}

double ObjectCounts::panoptic_quality() const {
  return share_of(2 * iou_sum, (2 * found.tp + found.fp + found.fn) << kIouBits);
}

ObjectCounts& ObjectCounts::operator+=(const ObjectCounts& other) {
  found += other.found;
  iou_sum += other.iou_sum;
  return *this;
}

std::vector<ObjectCounts> count_objects(const LabelMap& truth, const LabelMap& predicted, const std::vector<bool>& counted) {
  assert(truth.size() == predicted.size());
  const Components objects = connected_components(truth), guesses = connected_components(predicted);
  const Overlaps overlaps = overlaps_of(objects, guesses);
  std::vector<ObjectCounts> counts(counted.size());
  std::vector<bool> object_matched(objects.regions.size()), guess_matched(guesses.regions.size());
  for (const auto& [pair, pixels] : overlaps.shared) {
    const auto object = static_cast<size_t>(pair.truth), guess = static_cast<size_t>(pair.predicted);
    const int64_t either = objects.regions[object].area + overlaps.labelled[guess] - pixels;
    if (2 * pixels <= either) continue;
    object_matched[object] = guess_matched[guess] = true;
    ObjectCounts& own = counts[static_cast<size_t>(objects.regions[object].label)];
    ++own.found.tp;
    own.iou_sum += (pixels << kIouBits) / either;
  }
  for (size_t i = 0; i < objects.regions.size(); ++i) {
    if (!object_matched[i]) ++counts[static_cast<size_t>(objects.regions[i].label)].found.fn;
  }
  for (size_t i = 0; i < guesses.regions.size(); ++i) {
    const bool mostly_labelled = 2 * overlaps.labelled[i] >= guesses.regions[i].area;
    if (!guess_matched[i] && mostly_labelled) ++counts[static_cast<size_t>(guesses.regions[i].label)].found.fp;
  }
  for (size_t c = 0; c < counted.size(); ++c) {
    if (!counted[c]) counts[c] = {};
  }
  return counts;
}

}  // namespace tessera
