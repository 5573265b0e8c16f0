#pragma once
#include <ATen/core/Tensor.h>

#include <memory>

#include "data/decode/stored_image.h"

namespace tessera {

// (1, H, W, C) over the image's own pixels, which it keeps alive: bytes, floats or words (uint16). Nobody may write to it.
at::Tensor stored_tensor(std::shared_ptr<const StoredImage> image);

// Pixels (N, H, W, C) as stored, as the bytes or floats of `channels` channels that a network's input is made of: words become
// floats, of more channels the first are taken, and the first of fewer is repeated. What needs nothing is
// handed back as it is.
at::Tensor network_pixels(const at::Tensor& stored, int64_t channels);

}  // namespace tessera
