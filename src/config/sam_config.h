#pragma once
#include "config/schema.h"

namespace tessera {

// Sharpness-aware minimisation: see Note [SAM].
struct SamConfig {
  double rho = 0;
  int64_t interval = 1;
  bool per_rank = false;

  bool enabled() const { return rho > 0; }
};
template <class V>
void describe(V& v, SamConfig& c) {
  v.field("rho", c.rho,
          "SAM takes the gradient this far uphill from the weights, where the loss is nearly the highest nearby; 0: off",
          between(0, 100));
  v.field("interval", c.interval, "in one step out of so many; such a step costs two", at_least(1));
  v.field("per_rank", c.per_rank,
          "each rank goes uphill on its own part of the batch, without an exchange, as in Composer; the result then depends on "
          "the number of ranks");
}

}  // namespace tessera
