#pragma once
#include <cstddef>
#include <cstdint>

namespace tessera {

// Undoes the filter of a row of a PNG in place. above: the row before, undone; zeros for the first. unit: bytes of a pixel.
// False where there is no such filter.
bool undo_png_filter(int filter, uint8_t* row, const uint8_t* above, size_t length, size_t unit);

}  // namespace tessera
