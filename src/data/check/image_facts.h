#pragma once
#include "data/check/sample_facts.h"
#include "data/decode/raster.h"

namespace tessera {

// Whether a file has an alpha channel that is not opaque everywhere.
bool is_transparent(const Raster& raster);

// The part of the facts that tells of the image as the network sees it. histogram: of this image, empty unless it is of bytes.
void measure_image(const Image& image, SampleFacts& facts, ByteHistogram& histogram);

}  // namespace tessera
