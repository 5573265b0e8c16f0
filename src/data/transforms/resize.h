#pragma once
#include <utility>

#include "config/transform_config.h"
#include "data/transforms/canvas.h"
#include "data/transforms/fill.h"

namespace tessera {

// Brings every image to one size. With a size that is not square, `short` makes both sides at least as large as asked (one
// of them exactly), `long` both at most as large.
class Resize : public MovingTransform {
 public:
  explicit Resize(const ResizeConfig& config, Fill fill = {}) : config_(config), fill_(std::move(fill)) {}
  void move(Canvas& canvas, Rng rng) const override;

 private:
  ResizeConfig config_;
  Fill fill_;
};

}  // namespace tessera
