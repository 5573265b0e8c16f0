#pragma once
#include <cstdint>
#include <span>

#include "data/decode/raster.h"

namespace tessera {

// Baseline and progressive JPEG; grey, RGB or CMYK (0 is no ink, whatever the file's convention). With `exif_orientation`
// the pixels are turned the way the EXIF tag asks. Throws Error where libjpeg would warn of lost pixels: it fills what is
// missing with grey, and grey must not be learned from. What it warns of that costs no pixel is read, as by other readers.
Raster decode_jpeg(std::span<const uint8_t> bytes, bool exif_orientation, uint64_t max_pixels = kMaxPixels);

}  // namespace tessera
