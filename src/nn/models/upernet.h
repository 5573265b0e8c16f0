#pragma once
#include "nn/model.h"

namespace tessera {

// UPerNet (Xiao et al., 2018): an undilated ResNet, pyramid pooling and a feature pyramid. Logits at stride 4.
ModelPtr make_upernet(const ModelConfig& config, const ModelShape& shape);

}  // namespace tessera
