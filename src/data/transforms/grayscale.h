#pragma once
#include "config/transform_config.h"
#include "data/transforms/transform.h"

namespace tessera {

// Takes the colours out of an RGB image: all three channels get its luma, as data.channels=1 would read it. Images of other
// channels stay as they are.
class Grayscale : public Transform {
 public:
  explicit Grayscale(const GrayscaleConfig& config) : config_(config) {}
  void apply(Sample& sample, Rng rng) const override;

 private:
  GrayscaleConfig config_;
};

}  // namespace tessera
