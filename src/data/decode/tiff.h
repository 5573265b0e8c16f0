#pragma once
#include <cstdint>
#include <span>

#include "data/decode/raster.h"
#include "data/decode/stack_choice.h"

namespace tessera {

// TIFF and BigTIFF: 1 to 32-bit integers, 32 and 64-bit floats, strips or tiles, planes together or apart, any compression
// libtiff has. Pages of one size are stacked as channels; of OME-TIFFs and stacks of ImageJ `choice` takes parts; previews and
// transparency masks are skipped. 0 is black (files that store 0 as white are inverted), and the Orientation tag is followed.
// Deeper than 8 bits becomes float, see Image. keep_words: unsigned values of 16 bits that need no change are Raster::words.
Raster decode_tiff(std::span<const uint8_t> bytes, uint64_t max_pixels = kMaxPixels, const StackChoice& choice = {},
                   bool keep_words = false);

}  // namespace tessera
