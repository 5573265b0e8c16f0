#pragma once
#include "data/decode/raster.h"

namespace tessera {

// The picture a raster stands for, with the channels asked for: 1 grey (ITU-R 601 luma), 3 RGB (grey replicated, alpha
// dropped, palette looked up, CMYK converted), any other number: what the file has, which must be that many. Results equal
// Pillow's convert("L") and convert("RGB") bit for bit on 8-bit files. Throws Error when the file has other channels.
Image to_channels(Raster raster, int channels);

// The same for a large image that is cut into windows: where the channels asked for are the file's first ones, or its grey
// repeated, the image stays as it is stored, with the file's depth and channels, and whoever cuts it does the rest
// (data/batch/stored_pixels.h).
Image stored_channels(Raster raster, int channels);

}  // namespace tessera
