#pragma once
#include "core/image.h"

namespace tessera {

// The classes of a label map laid over the image: as `overlay` draws them or, where they overlap, blended. Then a pixel has the
// mean colour of its classes, and each class is lined along its inside in its own shade, so that one within another is seen.
// `alpha` 0 shows the image, 1 flat colours. Pixels without a class, and ignored ones, show the image; with alpha 1 those
// without a class are black. Throws Error when the sizes differ or a class has no colour.
Image draw_classes(const Image& image, const LabelMap& labels, const ClassTable& classes, float alpha);

}  // namespace tessera
