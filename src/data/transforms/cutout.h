#pragma once
#include "config/transform_config.h"
#include "data/transforms/fill.h"
#include "data/transforms/transform.h"

namespace tessera {

// Covers random boxes of the image with the fill, so that a network learns to use what is around.
class Cutout : public Transform {
 public:
  explicit Cutout(const CutoutConfig& config, Fill fill = {});
  void apply(Sample& sample, Rng rng) const override;

 private:
  CutoutConfig config_;
  Fill fill_;
};

struct PixelBox {
  int top = 0, left = 0, height = 0, width = 0;
};

// box: inside the image. With ignore_labels its pixels count in no loss; without they keep their classes.
void cover_box(Sample& sample, const PixelBox& box, const Fill& fill, bool ignore_labels);

}  // namespace tessera
