#pragma once
#include "nn/model.h"

namespace tessera {

// DeepLabV3+ (Chen et al., 2018): a ResNet of output stride 8, ASPP, a decoder that joins stage 1. Logits at stride 4.
ModelPtr make_deeplabv3plus(const ModelConfig& config, const ModelShape& shape);

}  // namespace tessera
