#pragma once
#include "config/schema.h"

namespace tessera {

enum class ShrinkMode { kResize, kCrop };
template <>
struct EnumNames<ShrinkMode> {
  static constexpr std::array<std::string_view, 2> names = {"resize", "crop"};
};

// Smaller batches of images first, whole ones at the end, as Composer's ProgressiveResizing.
struct ProgressiveResizingConfig {
  double initial_scale = 1;
  double delay_fraction = 0.5;
  double finetune_fraction = 0.2;
  int64_t size_increment = 4;
  ShrinkMode mode = ShrinkMode::kResize;

  bool enabled() const { return initial_scale < 1; }
};
template <class V>
void describe(V& v, ProgressiveResizingConfig& c) {
  v.field("initial_scale", c.initial_scale, "training images begin at this share of their height and width; 1: off",
          between(0.05, 1));
  v.field("delay_fraction", c.delay_fraction, "share of the run before they begin to grow", between(0, 1));
  v.field("finetune_fraction", c.finetune_fraction, "share of the run, at its end, with whole images", between(0, 1));
  v.field("size_increment", c.size_increment, "heights and widths are multiples of this, as long as they are smaller",
          at_least(1));
  v.field("mode", c.mode, "resize: whole images made smaller; crop: a part of them");
}

}  // namespace tessera
