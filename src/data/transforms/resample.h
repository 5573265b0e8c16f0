#pragma once
#include <vector>

#include "core/image.h"

namespace tessera {

// Bilinear; when shrinking, the triangle widens with the ratio, so that every source pixel counts (antialias). 8-bit images
// equal Pillow's Image.resize(BILINEAR) bit for bit, float images its mode "F" to rounding. The width is done before the
// height, always; Pillow 13 swaps them where the height shrinks much more, and values may then differ by 1. `size` must be
// at least 1 x 1.
Image resize_image(const Image& image, Size size);

// Nearest, by the centres of the pixels, as Pillow's NEAREST: labels are moved, never mixed.
LabelMap resize_labels(const LabelMap& labels, Size size);

// Which of `source` positions along an axis each of the targets [begin, end) of `target` takes there; in rising order.
std::vector<int> nearest_positions(int source, int target, int begin, int end);

}  // namespace tessera
