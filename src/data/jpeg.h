#pragma once
#include <cstdint>
#include <span>

#include "data/raster.h"

namespace tessera {

// Baseline and progressive JPEG; grey, RGB or CMYK (0 is no ink, whatever the file's convention). With `exif_orientation`
// the pixels are turned the way the EXIF tag asks. Throws Error for anything libjpeg would only warn about: it fills what
// is missing with grey, and grey must not be learned from.
Raster decode_jpeg(std::span<const uint8_t> bytes, bool exif_orientation);

}  // namespace tessera
