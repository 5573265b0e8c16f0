#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "core/image.h"

namespace tessera {

// 8-bit images of 1 (grey) or 3 (RGB) channels as a PNG file.
std::vector<uint8_t> encode_png(const Image& image);

// The same of a picture that is never whole in memory: make_row fills row y, width * channels bytes, from the first to the
// last.
std::vector<uint8_t> encode_png_rows(Size size, int channels, const std::function<void(int y, uint8_t* row)>& make_row);

// Labels as grey values: 8-bit, with kIgnoreLabel as 255. When a label does not fit beside that (above 255, or 255 where
// there are ignored pixels) the file is 16-bit and ignore is 65535. Reading it back with the label rules gives the same map.
std::vector<uint8_t> encode_png_labels(const LabelMap& labels);

// Labels as indices of a palette: `palette[i]` is the colour of class i. Ignored pixels get index 255, black, so at most 255
// classes where there are any, else 256. Throws Error when a label has no colour.
std::vector<uint8_t> encode_png_palette(const LabelMap& labels, const std::vector<Color>& palette);

}  // namespace tessera
