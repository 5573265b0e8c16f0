#pragma once
#include <cstdint>
#include <span>

#include "data/decode/raster.h"

namespace tessera {

// WebP, lossy or lossless, as RGB or RGBA of 8 bits. With `obey_exif` the pixels are turned the way the EXIF chunk asks. Throws
// Error for animations.
Raster decode_webp(std::span<const uint8_t> bytes, bool obey_exif = true, uint64_t max_pixels = kMaxPixels);

// Whether its colours are those that were stored, not only like them. Throws Error for what has no readable header.
bool is_lossless_webp(std::span<const uint8_t> bytes);

}  // namespace tessera
