#pragma once
#include "core/image.h"

namespace tessera {

// Note [Multi-label maps]
// Where classes overlap (data.labels.multi), a pixel's label is a set of classes: bit c is set where class c is there, so 0 is
// none of them, and kIgnoreLabel is ignored as ever. A map stays one plane of int16: what moves labels about (crops, resizing
// to the nearest pixel, batches, uploads, CutMix) need not know. What says which classes a pixel has does: the loss, what is
// counted, drawn and written. The 15 bits beside the sign are the most classes there can be.
inline constexpr int kMaxMultiLabelClasses = 15;

// Labels of num_classes classes are below this number.
inline int label_limit(int num_classes, bool multi_label) {
  return multi_label ? 1 << num_classes : num_classes;
}

// label: of a multi-label map.
inline bool has_class(int16_t label, int c) {
  return label >= 0 && (label >> c & 1) != 0;
}

// One class of a multi-label map as a map of two: 1 where the class is, 0 where it is not, kIgnoreLabel where ignored.
LabelMap class_plane(const LabelMap& map, int c);

}  // namespace tessera
