#pragma once
#include <cstdint>
#include <span>

#include "data/raster.h"

namespace tessera {

// Every kind of PNG: 1 to 16 bits, grey, RGB, palette, with or without alpha, interlaced or not. 16-bit values become
// floats of 0..65535. Throws Error for bad checksums in what matters to pixels and for a file that ends before IEND.
Raster decode_png(std::span<const uint8_t> bytes);

}  // namespace tessera
