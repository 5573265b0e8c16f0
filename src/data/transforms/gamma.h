#pragma once
#include "config/transform_config.h"
#include "data/transforms/transform.h"

namespace tessera {

// The image's values, as shares of its range (see pixel_range), to a random power; labels stay.
class Gamma : public Transform {
 public:
  explicit Gamma(const GammaConfig& config);
  void apply(Sample& sample, Rng rng) const override;

 private:
  GammaConfig config_;
};

// Bytes as scikit-image's adjust_gamma; deeper images between their own darkest and brightest value.
void change_gamma(Image& image, double gamma);

}  // namespace tessera
