#pragma once
#include <memory>
#include <vector>

#include "core/rng.h"
#include "data/sample.h"

namespace tessera {

// A step of the pipeline between source and batch. Stateless: what it does is a function of its options, the sample and
// `rng`, which is named by (seed, epoch, draw of the sample, position in the pipeline). Labels are moved, never interpolated.
class Transform {
 public:
  virtual ~Transform() = default;
  virtual void apply(Sample& sample, Rng rng) const = 0;
};

using Pipeline = std::vector<std::unique_ptr<const Transform>>;

}  // namespace tessera
