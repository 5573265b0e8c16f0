#pragma once
#include "config/transform_config.h"
#include "data/transform.h"

namespace tessera {

// Grows the image to at least a size, at the right and bottom or on all sides; larger sides stay as they are.
class Pad : public Transform {
 public:
  explicit Pad(const PadConfig& config) : config_(config) {}
  void apply(Sample& sample, Rng rng) const override;

 private:
  PadConfig config_;
};

}  // namespace tessera
