#pragma once
#include <utility>

#include "config/transform_config.h"
#include "data/transforms/canvas.h"
#include "data/transforms/fill.h"

namespace tessera {

// Cuts a window at a random place. An image smaller than the window is padded at the right and bottom first. With
// max_class_share below 1 a window is drawn again, up to `retries` times, until it shows at least two classes of which
// none fills max_class_share of the labelled pixels or more; the last one drawn is taken in any case.
class RandomCrop : public MovingTransform {
 public:
  explicit RandomCrop(const RandomCropConfig& config, Fill fill = {}) : config_(config), fill_(std::move(fill)) {}
  void move(Canvas& canvas, Rng rng) const override;

 private:
  bool is_varied(const Canvas& canvas, int top, int left) const;
  RandomCropConfig config_;
  Fill fill_;
};

}  // namespace tessera
