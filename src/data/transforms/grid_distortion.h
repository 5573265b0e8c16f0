#pragma once
#include <utility>
#include <vector>

#include "config/transform_config.h"
#include "data/transforms/fill.h"
#include "data/transforms/transform.h"
#include "data/transforms/warp.h"

namespace tessera {

// Stretches some rows and columns of a grid laid over the image and squeezes others, as a lens or a scanner does. The borders
// stay where they are, so nothing comes from outside.
class GridDistortion : public Transform {
 public:
  explicit GridDistortion(const GridDistortionConfig& config, Fill fill = {}) : config_(config), fill_(std::move(fill)) {}
  void apply(Sample& sample, Rng rng) const override;

 private:
  GridDistortionConfig config_;
  Fill fill_;
};

// Where each of `length` pixels comes from when the cells of a regular grid are filled from stretches of these relative
// widths: piecewise linear, the first and the last pixel stay.
std::vector<double> distorted_axis(int length, const std::vector<double>& widths);

}  // namespace tessera
