#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "core/image.h"

namespace tessera {

// (1, H, W, C) tensor of an image's pixels.
at::Tensor image_tensor(const Image& image);

// (N, H, W, C) of images of one size and type, in memory from which `device` copies without waiting.
at::Tensor image_batch(const std::vector<const Image*>& images, at::Device device);

}  // namespace tessera
