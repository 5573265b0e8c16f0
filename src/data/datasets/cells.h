#pragma once
#include "core/rng.h"
#include "data/sample.h"

namespace tessera {

// Paints a fluorescence microscopy field: 10 to 30 nuclei, often touching, some dim, with chromatin texture, uneven light,
// haze, blur and shot noise. Sets image (8-bit; the same grey in each of `channels`) and labels (0 background, 1 nucleus).
void paint_cells(Sample& sample, Size size, int channels, Rng rng);

}  // namespace tessera
