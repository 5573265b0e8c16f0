#pragma once
#include <cstdint>
#include <span>

namespace tessera {

// The orientation (1..8) an EXIF block asks for. 1, "as stored", when the block is something else or damaged: broken metadata
// is no reason to lose a picture.
int app1_orientation(std::span<const uint8_t> app1);  // the body of a JPEG's APP1 segment, which may hold other things
int exif_orientation(
    std::span<const uint8_t> block);  // the body of a PNG's eXIf chunk: some writers put APP1's signature first

}  // namespace tessera
