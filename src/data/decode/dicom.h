#pragma once
#include <cstdint>
#include <span>

#include "data/decode/raster.h"
#include "data/decode/stack_choice.h"

namespace tessera {

// DICOM images of grey (1 to 32 bits stored in 8, 16 or 32) or RGB of 8 bits: uncompressed, run-length, JPEG baseline or JPEG
// 2000. Frames count as planes of z. MONOCHROME1 is inverted, 0 becomes black. Where the file has a rescale slope and
// intercept, or is of CT or PET, values are floats in the unit they give (HU); else 8-bit values stay bytes and deeper ones are
// floats whose largest value is that of the bits stored.
Raster decode_dicom(std::span<const uint8_t> bytes, uint64_t max_pixels = kMaxPixels, const StackChoice& choice = {});

}  // namespace tessera
