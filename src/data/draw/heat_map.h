#pragma once
#include <vector>

#include "core/image.h"

namespace tessera {

// A value per pixel, row by row, laid over the image: 0 (and below) shows the image in grey, darkened, `high` and above a
// bright yellow, between them purple and red. An image of all values equal to 0 is drawn too. Throws Error when the sizes
// differ.
Image heat_overlay(const Image& image, const std::vector<float>& values, float high);

// The values alone as 8-bit grey: 0 black, `high` white.
Image heat_grey(const std::vector<float>& values, Size size, float high);

// A one-pixel frame, cut off at the image's edge, around the rectangle of `size` whose top left pixel is (top, left).
void draw_frame(Image& image, int top, int left, Size size, const Color& color);

}  // namespace tessera
