#pragma once
#include "data/simd/jpeg_loops.h"
#include "data/simd/level.h"

// The loops of a set by name: see JpegLoops.
namespace tessera::TSR_SIMD {

bool read_mcus(ScanPlace& place, ScanComponent* components, int num_components, int count);
bool skip_mcus(ScanPlace& place, ScanComponent* components, int num_components, int count);
bool make_pixels(const int16_t* blocks, const uint16_t* quantizers, int count, uint8_t* to, size_t stride);

}  // namespace tessera::TSR_SIMD
