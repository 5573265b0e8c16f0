#pragma once
#include "config/transform_config.h"
#include "data/transforms/canvas.h"

namespace tessera {

// Mirrors at random. The placement can tell of a left-right mirror; an up-down one makes it incomplete.
class Flip : public MovingTransform {
 public:
  explicit Flip(const FlipConfig& config) : config_(config) {}
  void move(Canvas& canvas, Rng rng) const override;

 private:
  FlipConfig config_;
};

// The mirrors themselves, for test-time flipping too.
void flip_horizontal(Sample& sample);
void flip_vertical(Sample& sample);

// What they do to the placement in an image of that width, of that height.
void flip_horizontal(Placement& placement, int width);
void flip_vertical(Placement& placement, int height);

}  // namespace tessera
