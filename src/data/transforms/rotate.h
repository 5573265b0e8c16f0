#pragma once
#include <utility>

#include "config/transform_config.h"
#include "data/transforms/fill.h"
#include "data/transforms/transform.h"

namespace tessera {

// Rotates about the centre, counter-clockwise as seen: the image bilinearly, labels by the nearest pixel; what comes from
// outside gets the fill and is ignored. Quarter turns move pixels exactly and swap height and width, so images that are not
// square need a crop or resize after it to fit in one batch. Any turn makes the placement incomplete.
class Rotate : public Transform {
 public:
  explicit Rotate(const RotateConfig& config, Fill fill = {}) : config_(config), fill_(std::move(fill)) {}
  void apply(Sample& sample, Rng rng) const override;

 private:
  RotateConfig config_;
  Fill fill_;
};

void rotate_sample(Sample& sample, double degrees, const Fill& fill = {});
void turn_quarters(Sample& sample, int quarters);  // 0..3

}  // namespace tessera
