#pragma once
#include "nn/model.h"

namespace tessera {

// PSPNet (Zhao et al., 2017): a ResNet of output stride 8, pyramid pooling. Logits at the output stride.
ModelPtr make_pspnet(const ModelConfig& config, const ModelShape& shape);

}  // namespace tessera
