#pragma once
#include <cstdint>
#include <vector>

#include "config/data_config.h"
#include "data/check/image_look.h"
#include "data/decode/stored_image.h"

namespace tessera {

// An even choice of about a million pixels: enough to tell what an image is like, however large it is.
Image thinned(const StoredImage& image);

// What an image is like: as the model reads it, with the channels of its file, which a model of one channel does not see.
ImageFacts facts_of_file(const std::vector<uint8_t>& bytes, const Image& image, const DataConfig& data);

}  // namespace tessera
