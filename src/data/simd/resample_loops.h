#pragma once
#include "data/simd/level.h"
#include "data/simd/pixel_loops.h"

// The loops of a set by name: see PixelLoops.
namespace tessera::TSR_SIMD {

void resize_rgb_row(const uint8_t* from, uint8_t* to, const int32_t* offsets, const TapPair* taps, int count, int pairs);
void sum_rows(const uint8_t* const* rows, uint8_t* to, const TapPair* taps, int pairs, size_t count);

}  // namespace tessera::TSR_SIMD
