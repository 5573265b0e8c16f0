#pragma once
#include "config/transform_config.h"
#include "data/transform.h"

namespace tessera {

// What is done to one image, already drawn; the neutral values change nothing.
struct ColorChange {
  double brightness = 0;  // added, as a share of the range
  double contrast = 1;    // factor of the values
  bool contrast_last = false;
  double saturation = 1;  // factor of S in HSV; RGB only
  double hue = 0;         // degrees; RGB only
};

// Brightness; contrast, here or at the end; saturation and hue in HSV. 8-bit images are kept within 0..255 after each step
// and rounded once, at the end; deeper ones have no fixed range and are not clipped. Images that are not RGB get brightness
// and contrast only.
void change_colors(Image& image, const ColorChange& change);

class Photometric : public Transform {
 public:
  explicit Photometric(const PhotometricConfig& config) : config_(config) {}
  void apply(Sample& sample, Rng rng) const override;

 private:
  PhotometricConfig config_;
};

}  // namespace tessera
