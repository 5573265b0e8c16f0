#pragma once
#include "core/image.h"

namespace tessera {

// The picture turned upright. `orientation` is 1..8 as in EXIF and TIFF: where the stored first row and first column belong
// (1 top left, 2 top right, 3 bottom right, 4 bottom left; 5..8 the same with rows and columns swapped).
Image orient(const Image& image, int orientation);

}  // namespace tessera
