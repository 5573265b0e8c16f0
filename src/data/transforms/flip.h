#pragma once
#include "config/transform_config.h"
#include "data/transforms/transform.h"

namespace tessera {

// Mirrors at random. The placement can tell of a left-right mirror; an up-down one makes it incomplete.
class Flip : public Transform {
 public:
  explicit Flip(const FlipConfig& config) : config_(config) {}
  void apply(Sample& sample, Rng rng) const override;

 private:
  FlipConfig config_;
};

// The mirrors themselves, for test-time flipping too.
void flip_horizontal(Sample& sample);
void flip_vertical(Sample& sample);

}  // namespace tessera
