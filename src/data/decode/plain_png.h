#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "data/decode/raster.h"

namespace tessera {

// A PNG as almost all programs write masks and pictures: 8 bits, not interlaced, nothing in it but the header, a palette and
// pixels. Several times as fast as decode_png, which it equals. Nothing where the file is anything else, or where anything
// about it is wrong, checksums included: decode_png then reads it, or says what it is.
std::optional<Raster> decode_plain_png(std::span<const uint8_t> bytes, uint64_t max_pixels = kMaxPixels);

}  // namespace tessera
