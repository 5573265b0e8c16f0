#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/files.h"
#include "core/image.h"
#include "data/datasets/coco_classes.h"

namespace tessera {

struct SegmentOptions {
  bool crowds = true;  // false: pixels of crowds are ignored
  uint64_t max_pixels = 0;
};

// The classes of a panoptic annotation. `png`: the colour of a pixel is the id of its segment, R + 256 G + 65536 B, and 0 where
// there is none. `segments`: the JSON list segments_info, with each segment's id and category_id. Throws Error saying what is
// wrong, `name` being the PNG's: among others a pixel of a segment that is not listed.
LabelMap segment_labels(std::span<const uint8_t> png, const std::string& name, std::string_view segments,
                        const CocoClassMap& classes, const SegmentOptions& options);

// Where the PNGs of a panoptic file lie: in a folder or a ZIP archive beside it that is called as it is. Throws Error.
fs::path panoptic_folder(const fs::path& json);

}  // namespace tessera
