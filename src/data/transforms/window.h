#pragma once
#include "data/sample.h"
#include "data/transforms/fill.h"

namespace tessera {

// Replaces the sample by its window of `size` whose top left corner is (top, left); the window may reach beyond the
// sample. Pixels from outside get `fill`, their labels kIgnoreLabel. The placement follows, and stops being complete when
// content is cut off. Crops and pads are all this.
void take_window(Sample& sample, int top, int left, Size size, const Fill& fill = {});

// Scales image (bilinear) and labels (nearest) to `size`; the placement follows.
void scale_sample(Sample& sample, Size size);

// What they do to the placement.
void move_placement(Placement& placement, int top, int left, Size size);
void scale_placement(Placement& placement, Size from, Size to);

}  // namespace tessera
