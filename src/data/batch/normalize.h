#pragma once
#include <ATen/core/Tensor.h>

#include "config/data_config.h"
#include "data/batch/image_statistics.h"
#include "tensor/batch.h"

namespace tessera {

// Pixels to network input, on the device of `images`: (N, H, W, C) bytes or floats to (N, C, H, W) of type `type`, stored
// channels-last. The same function serves training, evaluation and prediction.
// Images of mode range are scaled to 0..1 already, by Rescale. Mode auto, which a run decides about before, is fixed here.
// statistics: of the images that these are windows of, where `config` needs any; undefined: they are taken from the images
// themselves.
at::Tensor normalize_images(const at::Tensor& images, float max_value, const NormalizeConfig& config, at::ScalarType type,
                            ImageStatistics statistics = {});

}  // namespace tessera
