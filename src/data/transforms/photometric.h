#pragma once
#include "config/transform_config.h"
#include "core/image.h"
#include "data/transforms/transform.h"

namespace tessera {

// Who changes the colours: the thread that loads the sample, or the device, as it makes the network's input.
enum class ColorPlace { kLoader, kDevice };

// Brightness; contrast, here or at the end; saturation and hue in HSV. 8-bit images are kept within 0..255 after each step
// and rounded once, at the end; deeper ones have no fixed range and are not clipped. Images that are not RGB get brightness
// and contrast only. See Note [One photometric distortion].
void change_colors(Image& image, const ColorChange& change);

class Photometric : public Transform {
 public:
  explicit Photometric(const PhotometricConfig& config, ColorPlace place = ColorPlace::kLoader)
      : config_(config), place_(place) {}
  void apply(Sample& sample, Rng rng) const override;

 private:
  PhotometricConfig config_;
  ColorPlace place_;
};

}  // namespace tessera
