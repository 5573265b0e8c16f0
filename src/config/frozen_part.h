#pragma once
#include <optional>
#include <string>

#include "config/duration.h"

namespace tessera {

// An entry of model.freeze: a part of the model, and when it is not trained.
struct FrozenPart {
  std::string part;
  std::optional<Duration> from, until;

  bool always() const { return !from && !until; }
  // Whether the step that begins after `step` others leaves it alone; `total` and `steps_per_epoch` as in Duration::steps.
  bool at(int64_t step, int64_t steps_per_epoch, int64_t total) const;
};

// "backbone", "backbone until 5ep", "encoder from 0.5dur", "head from 2ep until 4ep". Throws UsageError for anything else.
FrozenPart parse_frozen_part(const std::string& text);

}  // namespace tessera
