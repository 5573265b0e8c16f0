#pragma once
#include "data/sample.h"

namespace tessera {

// Replaces the sample by its window of `size` whose top left corner is (top, left); the window may reach beyond the
// sample. Pixels from outside are 0 (in 8-bit and in float images: normalisation comes later, on the device) and labels
// kIgnoreLabel. The placement follows, and stops being complete when content is cut off. Crops and pads are all this.
void take_window(Sample& sample, int top, int left, Size size);

// Scales image (bilinear) and labels (nearest) to `size`; the placement follows.
void scale_sample(Sample& sample, Size size);

}  // namespace tessera
