#pragma once
#include <cstdint>
#include <span>

namespace tessera {

// The orientation (1..8) an EXIF block asks for: the body of a JPEG's APP1 segment. 1, "as stored", when the block is
// absent, is something else, or is damaged: broken metadata is no reason to lose a picture.
int exif_orientation(std::span<const uint8_t> app1);

}  // namespace tessera
