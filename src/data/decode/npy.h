#pragma once
#include <cstdint>
#include <span>

#include "data/decode/raster.h"

namespace tessera {

// A NumPy array of (H, W), (H, W, C) or (C, H, W): of the first and the last of three axes the shorter one is that of channels,
// the last where they are equal. bool and uint8 stay bytes; other integers of up to 32 bits and floats become float, as of a
// TIFF. Three channels are RGB.
Raster decode_npy(std::span<const uint8_t> bytes, uint64_t max_pixels = kMaxPixels);

// The same for label images: integers of any width, all of 0 .. 65535. Values up to 255 in wider types count as 8-bit ones, so
// that 255 means what it means elsewhere. Throws Error naming the first pixel that is no label.
Raster decode_npy_labels(std::span<const uint8_t> bytes, uint64_t max_pixels = kMaxPixels);

}  // namespace tessera
