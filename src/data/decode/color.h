#pragma once
#include "data/decode/raster.h"

namespace tessera {

// The picture a raster stands for, with the channels asked for: 1 grey (ITU-R 601 luma), 3 RGB (grey replicated, alpha
// dropped, palette looked up, CMYK converted), 0 one of these by what the file shows, or all channels of a stack; any other
// number: what the file has, which must be that many. Results equal Pillow's convert("L") and convert("RGB") bit for bit on
// 8-bit files. Throws Error when the file has other channels.
Image to_channels(Raster raster, int channels);

// Gives all three channels of an RGB image its luma.
void remove_colors(Image& image);

}  // namespace tessera
