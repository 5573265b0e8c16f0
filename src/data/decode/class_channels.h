#pragma once
#include <cstdint>
#include <span>

#include "config/data_config.h"
#include "data/decode/raster.h"

namespace tessera {

// A mask file whose channels, or pages, are a class each: Note [Multi-label maps]. A class is there where its channel is not 0;
// a pixel with a value of rules.ignore in any of them is ignored. Channels beyond the classes must be 0 throughout, as the blue
// of an RGB file is that holds two of them; alpha is no channel. Throws Error for files with too few channels, for one with a
// palette, and as decode_mask_raster does.
LabelMap decode_class_channels(std::span<const uint8_t> bytes, const LabelConfig& rules, int num_classes,
                               bool exif_orientation = true, uint64_t max_pixels = kMaxPixels);

}  // namespace tessera
