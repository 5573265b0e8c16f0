#pragma once
#include <cstdint>
#include <span>

#include "data/decode/raster.h"

namespace tessera {

// JPEG 2000, as a JP2 file or a bare codestream: components of 8 to 16 bits, grey, RGB or any number without a meaning. 8-bit
// values stay bytes, deeper ones become floats whose largest value is that of their bits. Throws Error for subsampled colour
// and for a file that is cut off.
Raster decode_jpeg2000(std::span<const uint8_t> bytes, uint64_t max_pixels = kMaxPixels);

}  // namespace tessera
