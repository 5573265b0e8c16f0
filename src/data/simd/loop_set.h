#pragma once
#include "data/simd/level.h"
#include "data/simd/pixel_loops.h"

// The loops of a set by name: see PixelLoops.
namespace tessera::TSR_SIMD {

void resize_rgb_row(const uint8_t* from, uint8_t* to, const int32_t* offsets, const TapPair* taps, int count, int pairs);
void sum_rows(const uint8_t* const* rows, uint8_t* to, const TapPair* taps, int pairs, size_t count);
void add_row(uint8_t* to, const uint8_t* above, size_t count);
void add_left(uint8_t* row, size_t count, size_t unit);

}  // namespace tessera::TSR_SIMD
