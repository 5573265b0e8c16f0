#pragma once
#include "config/transform_config.h"
#include "data/transforms/transform.h"

namespace tessera {

// Adds independent Gaussian noise of a random strength to every value of the image; labels stay.
class Noise : public Transform {
 public:
  explicit Noise(const NoiseConfig& config) : config_(config) {}
  void apply(Sample& sample, Rng rng) const override;

 private:
  NoiseConfig config_;
};

// sigma: in units of the image's values.
void add_noise(Image& image, double sigma, Rng rng);

}  // namespace tessera
