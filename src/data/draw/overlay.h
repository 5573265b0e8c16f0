#pragma once
#include <vector>

#include "core/image.h"

namespace tessera {

// Any image as 8-bit RGB for the eye: one or two channels as grey, more by their first three. Bytes stay as they are; floats
// are stretched from their smallest to their largest finite value (a flat image: by max_value).
Image to_display(const Image& image);

// A darker shade of a colour or, of a dark one, a brighter one: for lines that must be told from areas in that colour.
Color line_color(const Color& color);

// The labels laid over the image: `alpha` 0 shows the image, 1 flat class colours. Where two classes meet runs a line of
// one pixel in a darker (or, for dark colours, brighter) shade of the class, so that shapes read well. Ignored pixels show the
// image. Throws Error when the sizes differ or a label has no colour.
Image overlay(const Image& image, const LabelMap& labels, const std::vector<Color>& palette, float alpha);

}  // namespace tessera
