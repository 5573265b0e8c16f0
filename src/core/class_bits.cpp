#include "core/class_bits.h"

#include <algorithm>

namespace tessera {

LabelMap class_plane(const LabelMap& map, int c) {
  LabelMap plane(map.height, map.width);
  std::transform(map.labels.begin(), map.labels.end(), plane.labels.begin(), [&](int16_t label) {
    return label == kIgnoreLabel ? kIgnoreLabel : static_cast<int16_t>(has_class(label, c) ? 1 : 0);
  });
  return plane;
}

}  // namespace tessera
