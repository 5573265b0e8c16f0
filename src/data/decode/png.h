#pragma once
#include <cstdint>
#include <span>

#include "data/decode/raster.h"

namespace tessera {

// Every kind of PNG: 1 to 16 bits, grey, RGB, palette, with or without alpha, interlaced or not. 16-bit values become
// floats of 0..65535. Throws Error for bad checksums in what matters to pixels and for a file that ends before IEND.
// With `obey_exif` the pixels are turned the way the eXIf chunk asks. keep_words: values of 16 bits that are not turned are
// Raster::words.
Raster decode_png(std::span<const uint8_t> bytes, bool obey_exif = true, uint64_t max_pixels = kMaxPixels,
                  bool keep_words = false);

// The same by spng alone, for what decode_plain_png does not take; that one is tested against it.
Raster decode_any_png(std::span<const uint8_t> bytes, bool obey_exif = true, uint64_t max_pixels = kMaxPixels,
                      bool keep_words = false);

}  // namespace tessera
