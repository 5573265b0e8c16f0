#pragma once
#include "config/progressive_resizing_config.h"
#include "core/progress.h"
#include "tensor/batch.h"

namespace tessera {

// Note [Progressive resizing]
// train.progressive_resizing gives the network smaller images first: `initial_scale` of each side until `delay_fraction` of the
// run, then more, evenly, until whole ones are left for the last `finetune_fraction`. Composer's schedule; but labels always go
// with the images, each side is rounded by itself, and images are filtered as they shrink (bilinear, as
// torch.nn.functional.interpolate with antialias), where Composer takes every other pixel. The size is that of all samples of a
// step, before they are mixed, and a function of the step alone; so is the place of a crop, with the seed.

// What a step does to its batch.
struct Shrink {
  ShrinkMode mode = ShrinkMode::kResize;
  int64_t height = 0, width = 0;  // afterwards
  int64_t top = 0, left = 0;      // of a crop
};

// For the step that begins there and samples of that height and width; no side gets smaller than min_size.
Shrink shrink_at(const ProgressiveResizingConfig& config, const Progress& at, uint64_t seed, int64_t height, int64_t width,
                 int64_t min_size);

// The batch with images and labels on `device`, and of that size.
Batch shrunk(const Batch& batch, const Shrink& shrink, at::Device device);

}  // namespace tessera
