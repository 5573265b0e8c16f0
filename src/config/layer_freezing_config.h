#pragma once
#include "config/duration.h"
#include "config/schema.h"

namespace tessera {

// More and more of a model is no longer trained, from the image on, as Composer's LayerFreezing.
struct LayerFreezingConfig {
  double level = 0;
  Duration start = Duration::share(0.5);

  bool enabled() const { return level > 0; }
};
template <class V>
void describe(V& v, LayerFreezingConfig& c) {
  v.field("level", c.level,
          "share of the model's segments (`tessera models show --segments`) that are frozen at the end, beginning with the one "
          "nearest "
          "the image; the last one never is; 0: off",
          between(0, 1));
  v.field("start", c.start, "when the first is frozen; from then on their number grows evenly, epoch by epoch");
}

}  // namespace tessera
