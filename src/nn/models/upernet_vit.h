#pragma once
#include "nn/model.h"

namespace tessera {

// UPerNet's head on a vision transformer with a simple feature pyramid. Logits at a quarter of the patch's stride (stride 4 for
// a patch of 16) when the input is a multiple of the patch; else at the input's resolution, see nn/models/segmenter.h.
ModelPtr make_upernet_vit(const ModelConfig& config, const ModelShape& shape);

}  // namespace tessera
