#pragma once
#include <vector>

#include "core/image.h"

namespace tessera {

// The names and colours of the classes that occur in a map, as a strip to stand below a picture: white ground, a square of the
// colour and the name of each, in as many lines as it takes. It is at least `width` wide, wider where a name needs it, and its
// letters grow with the longer side of the picture, so that they are read where that is shown as a whole.
Image draw_legend(const LabelMap& labels, const ClassTable& classes, int width);

}  // namespace tessera
