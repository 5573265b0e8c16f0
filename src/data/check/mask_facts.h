#pragma once
#include "data/check/sample_facts.h"
#include "data/decode/mask.h"

namespace tessera {

// What the stored values of a mask tell, also beside the image it belongs to. MaskFacts::is_image may be set before.
void measure_mask(const RawMask& mask, const Image& image, MaskFacts& facts);

}  // namespace tessera
