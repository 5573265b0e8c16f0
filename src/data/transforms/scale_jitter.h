#pragma once
#include "config/transform_config.h"
#include "data/transforms/canvas.h"

namespace tessera {

// Resizes by a random factor s, uniform in [min, max). `fit` is mmsegmentation's rule: the image is scaled until its long side
// reaches s * the larger number of base or its short side s * the smaller one, so [512, 2048] serves upright photos too.
class ScaleJitter : public MovingTransform {
 public:
  explicit ScaleJitter(const ScaleJitterConfig& config);  // throws Error if min > max
  void move(Canvas& canvas, Rng rng) const override;

 private:
  ScaleJitterConfig config_;
};

}  // namespace tessera
