#pragma once
#include <optional>

#include "config/schema.h"

namespace tessera {

// Batch norm's running statistics, computed anew for the weights that are evaluated.
struct PreciseBnConfig {
  std::optional<int64_t> batches;
};
template <class V>
void describe(V& v, PreciseBnConfig& c) {
  v.field("batches", c.batches,
          "before each evaluation that eval.every asks for, batch norm's running statistics are replaced by their mean over so "
          "many "
          "training batches; 0: never; unset: 50 with train.swa, else never",
          at_least(0));
}

}  // namespace tessera
