#pragma once
#include "nn/model.h"

namespace tessera {

// FCN on a ResNet of output stride 8: torchvision's model or mmsegmentation's, by `config.fcn.layout`. Logits at the output
// stride.
ModelPtr make_fcn(const ModelConfig& config, const ModelShape& shape);

}  // namespace tessera
