#pragma once
#include <utility>

#include "config/transform_config.h"
#include "data/transforms/canvas.h"
#include "data/transforms/fill.h"

namespace tessera {

// Grows the image to at least a size, at the right and bottom or on all sides; larger sides stay as they are.
class Pad : public MovingTransform {
 public:
  explicit Pad(const PadConfig& config, Fill fill = {}) : config_(config), fill_(std::move(fill)) {}
  void move(Canvas& canvas, Rng rng) const override;

 private:
  PadConfig config_;
  Fill fill_;
};

}  // namespace tessera
