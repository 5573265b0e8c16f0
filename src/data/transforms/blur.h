#pragma once
#include "config/transform_config.h"
#include "data/transforms/transform.h"

namespace tessera {

// Gaussian blur of the image with a random sigma; labels stay.
class Blur : public Transform {
 public:
  explicit Blur(const BlurConfig& config) : config_(config) {}
  void apply(Sample& sample, Rng rng) const override;

 private:
  BlurConfig config_;
};

// Separable, cut off at 3 sigma, border pixels repeated outwards; 8-bit images are rounded once, at the end.
void blur_image(Image& image, double sigma);

}  // namespace tessera
