#pragma once
#include <cstdint>
#include <span>

#include "data/decode/raster.h"

namespace tessera {

// Uncompressed BMP of 1, 4, 8, 24 and 32 bits, stored from below or from above, of Windows and OS/2. A palette of plain grey
// levels is grey, as Pillow has it. Throws Error for the run-length and 16-bit kinds.
Raster decode_bmp(std::span<const uint8_t> bytes, uint64_t max_pixels = kMaxPixels);

}  // namespace tessera
