#pragma once
#include <cstdint>
#include <vector>

#include "core/image.h"
#include "metric/class_counts.h"

namespace tessera {

// Note [Objects]
// An object is a connected region of pixels of one class (8 neighbours). An object of the truth and a predicted one of the same
// class match where their IoU is above 1/2: then no other can match either of them, so there is nothing to choose. Rules for
// pixels without a label are those of panoptic quality (Kirillov et al. 2019, and its panopticapi): they are taken out of
// the IoU, and a predicted object that matches none and lies in them with more than half of its pixels is not counted.

// The objects of one class.
struct ObjectCounts {
  ClassCounts found;    // tp: matched pairs; fp: predicted objects that match none; fn: objects of the truth that none matches
  int64_t iou_sum = 0;  // of the matched pairs, in units of 2^-32: integers add up to the same in any order

  // NaN where there is nothing to divide by.
  double segmentation_quality() const;  // mean IoU of the matched pairs
  double panoptic_quality() const;      // F1 times segmentation quality; 0 where nothing matches

  ObjectCounts& operator+=(const ObjectCounts& other);
  friend bool operator==(const ObjectCounts&, const ObjectCounts&) = default;
};

// Counts for each class c with counted[c]; the others stay 0. truth, predicted: of one size.
std::vector<ObjectCounts> count_objects(const LabelMap& truth, const LabelMap& predicted, const std::vector<bool>& counted);

}  // namespace tessera
