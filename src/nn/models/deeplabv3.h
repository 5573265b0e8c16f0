#pragma once
#include "nn/model.h"

namespace tessera {

// DeepLabV3 (Chen et al., 2017): a ResNet of output stride 8, ASPP. torchvision's model or mmsegmentation's, by
// `config.deeplabv3.layout`. Logits at the output stride.
ModelPtr make_deeplabv3(const ModelConfig& config, const ModelShape& shape);

}  // namespace tessera
