#pragma once
#include <cstdint>
#include <vector>

#include "config/data_config.h"
#include "data/dataset.h"

namespace tessera {

// Sample `index` as an image file and a mask file: as its source stores them, and where it has none (drawn pictures, outlines)
// as a PNG of the pixels or of the classes. Throws BadSample.
EncodedSample stored_sample(const Dataset& dataset, int64_t index);

// What the values of those masks mean, and whether the images are turned by their EXIF tag, as `config` has it where the data
// set does not say.
LabelConfig stored_label_rules(const Dataset& dataset);
bool stored_orientation(const Dataset& dataset, const DataConfig& config);

// Up to 64 samples at even distances, for what must be known of all before the first is stored.
std::vector<int64_t> spread_samples(const Dataset& dataset);

// Bytes of image and mask together, without reading them where they are files. Throws BadSample.
uint64_t stored_bytes(const Dataset& dataset, int64_t index);

// Of image and mask, to compare samples that were stored and read back.
uint64_t content_key(const EncodedSample& sample);

}  // namespace tessera
