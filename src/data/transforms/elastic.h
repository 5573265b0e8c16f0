#pragma once
#include <array>
#include <utility>
#include <vector>

#include "config/transform_config.h"
#include "data/transforms/fill.h"
#include "data/transforms/transform.h"
#include "data/transforms/warp.h"

namespace tessera {

// Bends an image as if it were printed on rubber, as the U-Net paper does: random displacements on a coarse grid, smooth in
// between.
class Elastic : public Transform {
 public:
  explicit Elastic(const ElasticConfig& config, Fill fill = {}) : config_(config), fill_(std::move(fill)) {}
  void apply(Sample& sample, Rng rng) const override;

 private:
  ElasticConfig config_;
  Fill fill_;
};

// A displacement for every pixel of an image: a uniform cubic B-spline over (cells + 3) x (cells + 3) control points, which
// cover the image and a margin. No pixel moves further than the furthest control point.
class ElasticField {
 public:
  // displacements: of the control points, in pixels, row by row.
  ElasticField(Size size, int cells, std::vector<ImagePoint> displacements);

  // Where pixel (y, x) of the bent image comes from.
  ImagePoint operator()(int y, int x) const;

 private:
  // The four control points around a coordinate, and how much each of them counts.
  struct Weights {
    int first = 0;
    std::array<double, 4> weight{};
  };
  static std::vector<Weights> weights_along(int length, int cells);

  int points_;  // along each side
  std::vector<ImagePoint> displacements_;
  std::vector<Weights> rows_, columns_;
};

}  // namespace tessera
