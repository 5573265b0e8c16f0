#pragma once
#include <string>
#include <vector>

#include "core/rng.h"
#include "data/sample.h"

namespace tessera {

// The names of `num_classes` classes: background, then the figures (circle, square, ...), numbered when they come round again.
std::vector<std::string> shape_names(int num_classes);

// Paints 3 to 7 coloured figures, later ones over earlier ones, on a textured background. Class k has a figure and a hue of
// its own; place, size, turn and shade vary. Sets image (8-bit; grey if `channels` is 1) and labels.
void paint_shapes(Sample& sample, Size size, int channels, int num_classes, Rng rng);

}  // namespace tessera
